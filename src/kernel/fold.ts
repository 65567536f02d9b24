// Folds facts into the state of a run (`state.ts`), one fact at a time. Pure: the same facts give the same state (invariant 9).
//
// The conversation only grows; pruning replaces the text of old tool results. Messages and ends of children that arrive while a model call is open wait in `inbox` and join the conversation
// with the next `model.asked`.
import type { Usage } from '../contract/content.ts';
import type { Draft, Fact, FactOf } from '../contract/fact.ts';
import type { Tokens } from '../contract/outcome.ts';
import { type CallState, entriesForNextCall } from '../conversation/request.ts';
import { callKey, contentToText, countRepeats, maxRecent, toolCallParts } from '../conversation/tool-calls.ts';
import { callAt, initialState, loopVersionOf, messageRuleset, pendingInput, type RunState, startedFact } from './state.ts';

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
    addMemo(state, data.memo);
  },
  'model.asked': (state, data) => {
    const started = startedFact(state);
    if (!started) return;
    if (data.attempt === 1) {
      if (state.fallback) state.fallback.attempt = 0;
      state.conversation.entries.push(...entriesForNextCall(pendingInput(state), data, loopVersionOf(state)));
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
    guards.takeovers = 0;
    if (purpose === 'turn') guards.turns++;
    if (data.content.length > 0) conversation.entries.push({ kind: 'assistant', content: data.content });
    const text = contentToText(data.content);
    if (text !== '') conversation.texts.push(text);
    // Only two empty answers in a row end a run.
    if (text !== '' || toolCallParts(data.content).length > 0) guards.nudged.empty = 0;
    conversation.partial = '';
    conversation.countedTokens = data.usage.input + data.usage.output;
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
    const origin = {
      callId: part?.callId ?? `${turn}.${index}`,
      tool,
      arguments: data.arguments,
      original: data.original ?? null,
      meta: part?.meta,
    };
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
    // A call that was cut off is recorded by the process that takes over.
    if (data.status !== 'unknown') state.guards.takeovers = 0;
    addTaint(state, data.taint);
    addMemo(state, data.memo);
    if (data.data !== undefined) state.data = data.data;
    else if (call?.rejected === 'submit') state.guards.invalidResults++;
    if (data.told.length === 0) return;
    conversation.inbox = conversation.inbox.filter((item) => item.kind !== 'child' || !data.told.includes(item.childId));
  },
  'child.created': (state, { childId, label, agent, call, n = 0 }) => {
    state.guards.takeovers = 0;
    state.children.set(childId, { id: childId, label, agent, outcome: null, taint: [], call, n });
    state.openChildren++;
  },
  'child.ended': (state, { childId, outcome, taint = [] }) => {
    const child = state.children.get(childId);
    state.guards.takeovers = 0;
    if (child?.outcome === null) state.openChildren--;
    if (child) Object.assign(child, { outcome, taint });
    addTaint(state, ['child', ...taint]);
    // A client has no conversation.
    if (state.created.data.kind !== 'client') state.conversation.inbox.push({ kind: 'child', childId, outcome });
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
    state.conversation.countedTokens = null;
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
  'run.resumed': (state, { takeover = false }) => {
    state.paused = null;
    if (takeover) state.guards.takeovers++;
  },
  'run.ended': (state, _data, fact) => {
    if (state.phase.name !== 'ended') state.phase = { name: 'ended', ended: fact, last: state.phase };
  },
};

function addTaint(state: RunState, taint: readonly string[] = []): void {
  for (const source of taint) state.taint.add(source);
}

function addMemo(state: RunState, memo: Record<string, string> = {}): void {
  for (const [key, value] of Object.entries(memo)) state.memo.set(key, value);
}

function addSpending(state: RunState, used: Tokens | Usage, costUsd: number | null): void {
  const { tokens } = state;
  tokens.input += used.input;
  tokens.output += used.output;
  tokens.cached += used.cached;
  tokens.reasoning += used.reasoning;
  state.costUsd = state.costUsd === null || costUsd === null ? null : state.costUsd + costUsd;
}
