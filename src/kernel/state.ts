// The state of one run: a fold of its facts. The loop, rows, outcomes and replay read this and nothing else, so the same facts give the same
// requests and the same outcome (invariant 9), whether the run is live, resumed or replayed.
//
// The conversation only grows. Messages and ends of children that arrive while a model call is open wait in `inbox` and join the conversation
// with the next `model.asked`.
import type { Artifact } from '../contract/artifact.ts';
import type { Usage } from '../contract/content.ts';
import type { Draft, Fact, FactData, FactOf, LimitCause, Purpose } from '../contract/fact.ts';
import type { Ruleset } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome, Tokens } from '../contract/outcome.ts';
import { type LoopVersion, loopVersion } from '../conversation/loop-version.ts';
import { type CallState, type Entry, entriesForNextCall, type InboxItem, type Pending } from '../conversation/request.ts';
import { type AlwaysAllowed, callKey, contentToText, countRepeats, maxRecent, toolCallParts } from '../conversation/tool-calls.ts';
import { parseRule } from '../rules/policy.ts';

type Started = FactOf<'run.started'>;

/** A model's answer, with what it was asked for. */
export type Answered = FactData['model.answered'] & { purpose: Purpose; cause: LimitCause | null };

/** The phase of a live run. A field exists only in the phases in which it means something. */
export type LivePhase =
  | { name: 'queued' }
  /** Started; the model has not been asked yet. A client stays here. */
  | { name: 'ready'; started: Started }
  | { name: 'asking'; started: Started; asked: FactData['model.asked']; failure: FactData['model.failed'] | null }
  /** `calls`: the tool calls of this answer. `nudge`: sent with the next model call. */
  | { name: 'answered'; started: Started; answer: Answered; calls: CallState[]; nudge: FactData['model.nudged'] | null };

export type Phase = LivePhase | { name: 'ended'; ended: FactOf<'run.ended'>; last: LivePhase };

export interface ChildState {
  id: string;
  label: string | null;
  agent: string | null;
  outcome: Outcome | null;
  /** Sources of what it read; known once it has ended. */
  taint: readonly string[];
  /** The call that delegated it, and its index among the briefs of that call. */
  call: FactData['child.created']['call'];
  n: number;
}

export interface RunState {
  readonly runId: string;
  readonly created: FactOf<'run.created'>;
  seq: number;
  hash: string;
  phase: Phase;
  cancel: FactData['cancel.asked'] | null;
  paused: FactData['run.paused'] | null;
  /** The model the run fell back to, and at which attempt of the open call; null while its own model serves. */
  fallback: { model: string; attempt: number } | null;
  conversation: {
    entries: Entry[];
    inbox: InboxItem[];
    /** Every tool call so far, in order. */
    calls: CallState[];
    /** Text of each answer that had any. */
    texts: string[];
    /** Text of an answer that broke off. */
    partial: string;
    /** Size of the last request as the provider counted it. */
    lastInput: number | null;
  };
  /** Counters that `decide` compares with the loop's limits. */
  guards: {
    /** Answered model calls. Wrap-up and summary do not count. */
    turns: number;
    nudged: { empty: number; cut: number; result: number; summary: number };
    /** Keys of the latest tool calls, and how often they repeat. */
    recent: string[];
    repeats: number;
    /** Turns in a row with a tool call that does not parse, and the last such turn. */
    malformed: { turns: number; last: number };
    invalidResults: number;
  };
  rights: {
    /** Rulesets that narrowed the run after it was created. */
    narrowed: Ruleset[];
    /** Calls that were approved for good, for this run and its descendants. */
    always: AlwaysAllowed[];
  };
  data: Json | undefined;
  artifacts: Artifact[];
  /** Sources of everything its tools and children reported. */
  taint: Set<string>;
  children: Map<string, ChildState>;
  openChildren: number;
  /** Of the run and everything below it; `costUsd` is null once a price was unknown. */
  tokens: Tokens;
  costUsd: number | null;
}

export function initialState(fact: FactOf<'run.created'>): RunState {
  return {
    runId: fact.runId,
    created: fact,
    seq: fact.seq,
    hash: fact.hash,
    phase: { name: 'queued' },
    cancel: null,
    paused: null,
    fallback: null,
    conversation: { entries: [], inbox: [], calls: [], texts: [], partial: '', lastInput: null },
    guards: {
      turns: 0,
      nudged: { empty: 0, cut: 0, result: 0, summary: 0 },
      recent: [],
      repeats: 0,
      malformed: { turns: 0, last: -1 },
      invalidResults: 0,
    },
    rights: { narrowed: [], always: [] },
    data: undefined,
    artifacts: [],
    taint: new Set(),
    children: new Map(),
    openChildren: 0,
    tokens: { input: 0, output: 0, cached: 0, reasoning: 0 },
    costUsd: 0,
  };
}

/** Advances the state by one fact, in place. */
export function reduce(state: RunState, fact: Fact): void {
  state.seq = fact.seq;
  state.hash = fact.hash;
  const reducer = reducers[fact.type] as (state: RunState, data: Fact['data'], fact: Fact) => void;
  reducer(state, fact.data, fact);
}

/** The state of a run from all its facts, in order. */
export function foldFacts(facts: Fact[]): RunState {
  const [first, ...rest] = facts;
  if (first?.type !== 'run.created') throw new Error('the facts of a run begin with run.created');
  const state = initialState(first);
  for (const fact of rest) reduce(state, fact);
  return state;
}

type Reducers = { [D in Draft as D['type']]: (state: RunState, data: D['data'], fact: FactOf<D['type']>) => void };

const reducers: Reducers = {
  'run.created': () => {},
  'run.started': (state, data, fact) => {
    state.phase = { name: 'ready', started: fact };
    if (data.first !== null) state.conversation.entries.push({ kind: 'user', text: data.first });
    addTaint(state, data.taint);
  },
  'model.asked': (state, data) => {
    const started = startedFact(state);
    if (!started) return;
    if (data.attempt === 1) {
      if (state.fallback) state.fallback.attempt = 0;
      state.conversation.entries.push(...entriesForNextCall(pendingInput(state), data, versionOf(state)));
      state.conversation.inbox = [];
    } // A later attempt sends the same request: what has arrived since belongs to the next one.
    state.phase = { name: 'asking', started, asked: data, failure: null };
  },
  'model.answered': (state, data) => {
    const { phase, conversation, guards } = state;
    const started = startedFact(state);
    if (!started) return;
    const { purpose, cause } = phase.name === 'asking' ? phase.asked : { purpose: 'turn' as const, cause: null };
    state.phase = { name: 'answered', started, answer: { ...data, purpose, cause }, calls: [], nudge: null };
    if (purpose === 'turn') guards.turns++;
    if (data.content.length > 0) conversation.entries.push({ kind: 'assistant', content: data.content });
    const text = contentToText(data.content);
    if (text !== '') conversation.texts.push(text);
    // Only two empty answers in a row end a run.
    if (text !== '' || toolCallParts(data.content).length > 0) guards.nudged.empty = 0;
    conversation.partial = '';
    conversation.lastInput = data.usage.input + data.usage.output;
    addSpending(state, data.usage, data.costUsd);
  },
  'model.failed': (state, data) => {
    if (state.phase.name === 'asking') state.phase.failure = data;
    if (data.fallback !== null) state.fallback = { model: data.fallback, attempt: data.attempt };
    if (data.text !== '') state.conversation.partial = data.text;
    if (data.usage) addSpending(state, data.usage, data.costUsd);
  },
  'model.nudged': (state, data) => {
    if (state.phase.name === 'answered') state.phase.nudge = data;
    state.guards.nudged[data.reason]++;
  },
  'tool.asked': (state, data) => {
    const { phase, guards } = state;
    if (phase.name !== 'answered') return;
    const { turn, index, tool, rejected, idempotent, waits } = data;
    const part = toolCallParts(phase.answer.content)[index];
    const origin = { callId: part?.callId ?? `${turn}.${index}`, tool, arguments: data.arguments, meta: part?.meta };
    const call: CallState = { turn, index, ...origin, rejected, idempotent, waits, approval: null, finished: null, pruned: false };
    phase.calls.push(call);
    state.conversation.calls.push(call);
    guards.recent = [...guards.recent, callKey(tool, data.arguments)].slice(-maxRecent);
    guards.repeats = countRepeats(guards.recent);
    if (rejected !== 'malformed') guards.malformed = { turns: 0, last: -1 };
    else if (guards.malformed.last !== turn) guards.malformed = { turns: guards.malformed.turns + 1, last: turn };
  },
  'tool.finished': (state, data) => {
    const { conversation } = state;
    const call = callAt(state, data);
    if (call) call.finished = data;
    addTaint(state, data.taint);
    if (data.data !== undefined) state.data = data.data;
    else if (call?.rejected === 'submit') state.guards.invalidResults++;
    if (data.told.length === 0) return;
    conversation.inbox = conversation.inbox.filter((item) => item.kind !== 'child' || !data.told.includes(item.childId));
  },
  'child.created': (state, { childId, label, agent, call, n = 0 }) => {
    state.children.set(childId, { id: childId, label, agent, outcome: null, taint: [], call, n });
    state.openChildren++;
  },
  'child.ended': (state, { childId, outcome, taint = [] }) => {
    const child = state.children.get(childId);
    if (child?.outcome === null) state.openChildren--;
    if (child) Object.assign(child, { outcome, taint });
    addTaint(state, ['child', ...taint]);
    state.conversation.inbox.push({ kind: 'child', childId, outcome });
    addSpending(state, outcome.tokens, outcome.costUsd);
  },
  'message.received': (state, { from, text, rules = [] }) => {
    state.conversation.inbox.push({ kind: 'message', from, text });
    if (rules.length > 0) state.rights.narrowed.push(messageRuleset(from, rules));
  },
  'artifact.recorded': (state, data) => void state.artifacts.push(data.artifact),
  'context.pruned': (state, data) => {
    for (const { turn, index } of data.calls) {
      const call = state.conversation.calls.find((each) => each.turn === turn && each.index === index);
      if (call) call.pruned = true;
    }
    state.conversation.lastInput = null;
  },
  'context.compacted': () => {},
  'cancel.asked': (state, data) => {
    state.cancel ??= data;
  },
  'approval.asked': (state, { hash, expiresAt, subjects, ...at }) => {
    const call = callAt(state, at);
    if (call) call.approval = { hash, expiresAt, subjects, answer: null };
  },
  'approval.answered': (state, data) => {
    const { tool, approval } = callAt(state, data) ?? {};
    if (tool === undefined || !approval || approval.answer) return;
    approval.answer = data;
    if (data.allowed && data.always) {
      state.rights.always.push({ tool, hash: approval.hash, subjects: approval.subjects, by: data.by });
    }
  },
  'run.paused': (state, data) => {
    state.paused = data;
  },
  'run.resumed': (state) => {
    state.paused = null;
  },
  'run.ended': (state, _data, fact) => {
    if (state.phase.name !== 'ended') state.phase = { name: 'ended', ended: fact, last: state.phase };
  },
};

/** The phase of a run, or the one it ended in. */
export function livePhase({ phase }: RunState): LivePhase {
  return phase.name === 'ended' ? phase.last : phase;
}

export function startedFact(state: RunState): Started | null {
  const phase = livePhase(state);
  return phase.name === 'queued' ? null : phase.started;
}

export function endedFact({ phase }: RunState): FactOf<'run.ended'> | null {
  return phase.name === 'ended' ? phase.ended : null;
}

/** Tool calls of the last answer; none while the model is being asked. */
export function currentCalls(state: RunState): CallState[] {
  const phase = livePhase(state);
  return phase.name === 'answered' ? phase.calls : [];
}

/** A call of the last answer. */
export function callAt(state: RunState, { turn, index }: { turn: number; index: number }): CallState | undefined {
  return currentCalls(state).find((call) => call.turn === turn && call.index === index);
}

/** The texts and limits of the loop version that the run started with. */
export function versionOf(state: RunState): LoopVersion {
  return loopVersion(startedFact(state)?.data.loop);
}

/** Rules that came with a message, as a ruleset that only narrows. */
export function messageRuleset(from: string, rules: string[]): Ruleset {
  return { kind: 'narrowing', owner: `a message from ${from}`, rules: rules.map(parseRule) };
}

/** Everything that the next model call adds to the conversation. */
export function pendingInput(state: RunState): Pending {
  const phase = livePhase(state);
  const { brief, dialect } = state.created.data;
  const { answer, calls, nudge } = phase.name === 'answered' ? phase : { answer: null, calls: [], nudge: null };
  return {
    calls,
    inbox: state.conversation.inbox,
    dropped: answer?.dropped ?? 0,
    nudge: nudge?.text ?? null,
    reader: versionOf(state).readTool(dialect, startedFact(state)?.data.reader),
    lastPrompt: brief.result?.prompt ?? null,
  };
}

function addTaint(state: RunState, taint: readonly string[] = []): void {
  for (const source of taint) state.taint.add(source);
}

function addSpending(state: RunState, used: Tokens | Usage, costUsd: number | null): void {
  const { tokens } = state;
  tokens.input += used.input;
  tokens.output += used.output;
  tokens.cached += used.cached;
  tokens.reasoning += used.reasoning;
  state.costUsd = state.costUsd === null || costUsd === null ? null : state.costUsd + costUsd;
}
