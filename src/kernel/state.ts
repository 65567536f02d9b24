// What the facts of one run say: the run's state as a fold. The loop, the rows and the outcome are read from it alone, so that the same
// facts give the same requests and the same outcome (invariant 9), live, resumed or replayed.
//
// The conversation is a list of entries that only grows. What arrives while a model call is open (messages, ends of children) waits in
// `inbox` and becomes part of the conversation with the next `model.asked`: messages are built from facts up to its `upTo` alone.
import type { Artifact } from '../contract/artifact.ts';
import type { Usage } from '../contract/content.ts';
import type { Draft, Fact, FactData, FactOf, LimitCause, Purpose } from '../contract/fact.ts';
import type { Ruleset } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome, Tokens } from '../contract/outcome.ts';
import { type CallState, type Entry, entriesForNextCall, type InboxItem, type Pending } from '../conversation/request.ts';
import { parseRule } from '../rules/policy.ts';
import { type Always, alwaysFor, callKey, callParts, countRepeats, maxRecent, textOf } from './calls.ts';

export interface ChildState {
  id: string;
  label: string | null;
  agent: string | null;
  outcome: Outcome | null;
  /** Where what it has read comes from, once it has ended. */
  taint: readonly string[];
  /** The call that asked for it, and its place among the briefs of that call. */
  call: FactData['child.created']['call'];
  n: number;
}

export interface RunState {
  runId: string;
  seq: number;
  hash: string;
  created: FactOf<'run.created'>;
  started: FactOf<'run.started'> | null;
  ended: FactOf<'run.ended'> | null;
  cancel: FactData['cancel.asked'] | null;
  /** Why it takes no steps, and until when. */
  paused: FactData['run.paused'] | null;
  entries: Entry[];
  inbox: InboxItem[];
  /** The model call that is open, and how often it has been tried. */
  asked: FactData['model.asked'] | null;
  /** The last answer; null before the first. */
  answer: (FactData['model.answered'] & { purpose: Purpose; cause: LimitCause | null }) | null;
  failure: FactData['model.failed'] | null;
  /** The model that the run fell back to, and at which attempt of the open call; null while its own serves. */
  fallback: { model: string; attempt: number } | null;
  /** A nudge that the model has not answered yet. */
  nudge: FactData['model.nudged'] | null;
  nudged: { empty: number; cut: number; result: number; summary: number };
  /** Model calls that were answered: the turns. Wrap-up and summary do not count. */
  turns: number;
  /** The calls of the last answer, and of all answers. */
  calls: CallState[];
  allCalls: CallState[];
  /** Keys of the latest calls, for the loop guard, and how often they repeat. */
  recent: string[];
  repeats: number;
  /** Turns in a row with a tool call that does not parse, and the last of them. */
  malformed: { turns: number; last: number };
  invalidResults: number;
  /** What came to narrow the run while it was under way. */
  narrowed: Ruleset[];
  /** What was allowed for good: these subjects of this tool, here and below. */
  always: Always[];
  data: Json | undefined;
  texts: string[];
  partial: string;
  artifacts: Artifact[];
  /** Where what its tools and children told comes from. */
  taint: Set<string>;
  children: Map<string, ChildState>;
  /** Of the run and everything below it; `costUsd` null once a price was unknown. */
  tokens: Tokens;
  costUsd: number | null;
  /** Size of the last request as the provider counted it. */
  lastInput: number | null;
}

export function initialState(fact: FactOf<'run.created'>): RunState {
  return {
    runId: fact.runId,
    seq: fact.seq,
    hash: fact.hash,
    created: fact,
    started: null,
    ended: null,
    cancel: null,
    paused: null,
    entries: [],
    inbox: [],
    asked: null,
    answer: null,
    failure: null,
    fallback: null,
    nudge: null,
    nudged: { empty: 0, cut: 0, result: 0, summary: 0 },
    turns: 0,
    calls: [],
    allCalls: [],
    recent: [],
    repeats: 0,
    malformed: { turns: 0, last: -1 },
    invalidResults: 0,
    narrowed: [],
    always: [],
    data: undefined,
    texts: [],
    partial: '',
    artifacts: [],
    taint: new Set(),
    children: new Map(),
    tokens: { input: 0, output: 0, cached: 0, reasoning: 0 },
    costUsd: 0,
    lastInput: null,
  };
}

/** Advances the state by one fact, in place. */
export function reduce(state: RunState, fact: Fact): void {
  state.seq = fact.seq;
  state.hash = fact.hash;
  const reducer = reducers[fact.type] as (state: RunState, data: Fact['data'], fact: Fact) => void;
  reducer(state, fact.data, fact);
}

/** The state that a run's facts, in order, add up to. */
export function foldFacts(facts: Fact[]): RunState {
  const [first, ...rest] = facts;
  if (first?.type !== 'run.created') throw new Error('the facts of a run begin with run.created');
  const state = initialState(first);
  for (const fact of rest) reduce(state, fact);
  return state;
}

type Reducers = { [D in Draft as D['type']]: (state: RunState, data: D['data'], fact: FactOf<D['type']>) => void };

const nothing = () => {};

const reducers: Reducers = {
  'run.created': nothing,
  'run.started': (state, data, fact) => {
    state.started = fact;
    if (data.first !== null) state.entries.push({ kind: 'user', text: data.first });
    for (const each of data.taint ?? []) state.taint.add(each);
  },
  'model.asked': (state, data) => {
    state.asked = data;
    state.failure = null;
    if (data.attempt === 1 && state.fallback) state.fallback.attempt = 0;
    if (data.attempt > 1) return; // the same request again: what has come meanwhile belongs to the next one
    state.entries.push(...entriesForNextCall(pendingOf(state), data.purpose, data.cause));
    state.inbox = [];
    state.nudge = null;
    state.calls = [];
  },
  'model.answered': (state, data) => {
    const { purpose, cause } = state.asked ?? { purpose: 'turn' as const, cause: null };
    state.asked = null;
    state.answer = { ...data, purpose, cause };
    if (purpose === 'turn') state.turns++;
    if (data.content.length > 0) state.entries.push({ kind: 'assistant', content: data.content });
    const text = textOf(data.content);
    if (text !== '') state.texts.push(text);
    if (text !== '' || callParts(data.content).length > 0) state.nudged.empty = 0; // twice in a row is what ends a run
    state.partial = '';
    state.lastInput = data.usage.input + data.usage.output;
    spend(state, data.usage, data.costUsd);
  },
  'model.failed': (state, data) => {
    state.failure = data;
    if (data.fallback !== null) state.fallback = { model: data.fallback, attempt: data.attempt };
    if (data.text !== '') state.partial = data.text;
    if (data.usage) spend(state, data.usage, data.costUsd);
  },
  'model.nudged': (state, data) => {
    state.nudge = data;
    state.nudged[data.reason]++;
  },
  'tool.asked': (state, data) => {
    const part = callParts(state.answer?.content ?? [])[data.index];
    const { turn, index, tool, rejected, idempotent, waits } = data;
    const callId = part?.callId ?? `${turn}.${index}`;
    const own = { callId, tool, arguments: data.arguments, meta: part?.meta };
    const call: CallState = { turn, index, ...own, rejected, idempotent, waits, approval: null, finished: null, pruned: false };
    state.calls.push(call);
    state.allCalls.push(call);
    state.recent = [...state.recent, callKey(tool, data.arguments)].slice(-maxRecent);
    state.repeats = countRepeats(state.recent);
    if (rejected !== 'malformed') state.malformed = { turns: 0, last: -1 };
    else if (state.malformed.last !== turn) state.malformed = { turns: state.malformed.turns + 1, last: turn };
  },
  'tool.finished': (state, data) => {
    const call = callAt(state, data);
    if (call) call.finished = data;
    for (const each of data.taint) state.taint.add(each);
    if (data.data !== undefined) state.data = data.data;
    else if (call?.rejected === 'submit') state.invalidResults++;
    if (data.told.length > 0) state.inbox = state.inbox.filter((item) => item.kind !== 'child' || !data.told.includes(item.childId));
  },
  'child.created': (state, data) => {
    state.children.set(data.childId, {
      id: data.childId,
      label: data.label,
      agent: data.agent,
      outcome: null,
      taint: [],
      call: data.call,
      n: data.n ?? 0,
    });
  },
  'child.ended': (state, { childId, outcome, taint = [] }) => {
    const child = state.children.get(childId);
    if (child) Object.assign(child, { outcome, taint });
    for (const each of ['child', ...taint]) state.taint.add(each);
    state.inbox.push({ kind: 'child', childId, outcome });
    addTokens(state.tokens, outcome.tokens);
    state.costUsd = addCost(state.costUsd, outcome.costUsd);
  },
  'message.received': (state, { from, text, rules = [] }) => {
    state.inbox.push({ kind: 'message', from, text });
    if (rules.length > 0) state.narrowed.push(messageRuleset(from, rules));
  },
  'artifact.recorded': (state, data) => void state.artifacts.push(data.artifact),
  'context.pruned': (state, data) => {
    for (const { turn, index } of data.calls) {
      const call = state.allCalls.find((each) => each.turn === turn && each.index === index);
      if (call) call.pruned = true;
    }
    state.lastInput = null;
  },
  'context.compacted': nothing,
  'cancel.asked': (state, data) => {
    state.cancel ??= data;
  },
  'approval.asked': (state, { hash, expiresAt, subjects, ...at }) => {
    const call = callAt(state, at);
    if (call) call.approval = { hash, expiresAt, subjects, answer: null };
  },
  'approval.answered': (state, data) => {
    const call = callAt(state, data);
    if (!call?.approval || call.approval.answer) return;
    call.approval.answer = data;
    if (data.allowed && data.always) state.always.push(alwaysFor(call, data.by));
  },
  'run.paused': (state, data) => {
    state.paused = data;
  },
  'run.resumed': (state) => {
    state.paused = null;
  },
  'run.ended': (state, _data, fact) => {
    state.ended = fact;
  },
};

/** A call of the last answer. */
export function callAt(state: RunState, { turn, index }: { turn: number; index: number }): CallState | undefined {
  return state.calls.find((each) => each.turn === turn && each.index === index);
}

/** Rules that came with a message, as a ruleset that narrows. */
export function messageRuleset(from: string, rules: string[]): Ruleset {
  return { kind: 'narrowing', owner: `a message from ${from}`, rules: rules.map(parseRule) };
}

export function pendingOf(state: RunState): Pending {
  const { calls, inbox } = state;
  const { dialect, brief } = state.created.data;
  return {
    calls,
    inbox,
    dropped: state.answer?.dropped ?? 0,
    nudge: state.nudge?.text ?? null,
    reader: dialect === 'native' ? 'delegate_read' : null,
    lastPrompt: brief.result?.prompt ?? null,
  };
}

function spend(state: RunState, usage: Usage, costUsd: number | null): void {
  addTokens(state.tokens, usage);
  state.costUsd = addCost(state.costUsd, costUsd);
}

function addTokens(total: Tokens, more: Tokens | Usage): void {
  total.input += more.input;
  total.output += more.output;
  total.cached += more.cached;
  total.reasoning += more.reasoning;
}

function addCost(total: number | null, more: number | null): number | null {
  return total === null || more === null ? null : total + more;
}

export function rootOf(state: RunState): string {
  return state.created.data.rootId;
}
