// Folds facts into the state of a run (`state.ts`), one fact at a time. Pure: the same facts give the same state (invariant 9). The reducers are one table,
// so that every type of fact is found in one place; that makes the file long.
//
// The conversation only grows; pruning replaces the text of old tool results, and compaction everything before the last answer. Messages and ends of children that arrive while a model call is open wait in `inbox` and join the conversation
// with the next `model.asked`.
import { completeOutcome } from '../../contract/complete-outcome.ts';
import type { Draft, Fact, FactOf } from '../../contract/fact.ts';
import { type CallState, entriesForNextCall } from '../../conversation/request.ts';
import { callKey, countRepeats, maxRecent, toolCallParts } from '../../conversation/tool-calls.ts';
import { isoToMs } from '../../text/instant.ts';
import { addQuestion, factToResult, finishStep, startStep } from '../flow/state.ts';
import { applyCompaction, composeCompaction } from '../loop/compaction.ts';
import { checkSender, startCheck } from './check-state.ts';
import { ensureOwnMap, ensureOwnSet } from './shared-empty.ts';
import { addModelCall, addSpending } from './spending.ts';
import {
  answerToText,
  cacheLifetimeMs,
  callAt,
  createRunState,
  findOpenRequest,
  loopVersionOf,
  messageRuleset,
  pendingInput,
  type RunState,
  settledPhase,
  startedFact,
} from './state.ts';

/** Advances the state by one fact, in place. */
export function applyFact(state: RunState, fact: Fact): void {
  state.seq = fact.seq;
  state.hash = fact.hash;
  const reducer = reducers[fact.type] as (state: RunState, data: Fact['data'], fact: Fact) => void;
  reducer(state, fact.data, fact);
}

/** The state of a run from all its facts, in order. */
export function foldFacts(facts: Fact[]): RunState {
  const [first, ...rest] = facts;
  if (first?.type !== 'run.created') throw new Error('the facts of a run begin with run.created');
  const state = createRunState(first);
  for (const fact of rest) applyFact(state, fact);
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
  'workspace.prepared': (state, data) => {
    state.files = { prepared: data, saved: state.files?.saved ?? null, isSaved: true };
  },
  'workspace.saved': (state, data) => {
    if (state.files) Object.assign(state.files, { saved: data, isSaved: true });
  },
  'changes.planned': (state, data) => {
    state.plans = ensureOwnMap(state.plans).set(data.id, data);
  },
  'changes.made': (state, { id }) => void state.plans.delete(id),
  'changes.discarded': () => {},
  'session.opened': (state, data) => {
    // What an earlier process could not enforce stays true.
    state.session = { ...data, notices: [...new Set([...(state.session?.notices ?? []), ...data.notices])] };
  },
  'session.prompted': (state, { text }) => {
    const started = startedFact(state);
    const { calls } = pendingInput(state);
    if (calls.length > 0) state.conversation.entries.push({ kind: 'results', calls });
    state.conversation.entries.push({ kind: 'user', text });
    state.conversation.inbox = [];
    // The prompt is open until the agent's next model call.
    if (started) state.phase = { name: 'ready', started };
  },
  'model.called': (state, data) => addModelCall(state, data.model, data),
  'model.asked': (state, data, { at }) => {
    const started = startedFact(state);
    if (!started) return;
    if (state.answeredAt !== null && isoToMs(at) - isoToMs(state.answeredAt) > cacheLifetimeMs) state.hasWaitedLong = true;
    if (data.purpose === 'compact') {
      const last = settledPhase(state);
      if (last.name !== 'queued') state.phase = { name: 'compacting', started, asked: data, answer: null, last };
      return;
    }
    if (data.attempt === 1 && state.created.data.external) {
      // Messages and nudges wait for the next `session.prompted`.
      const { calls } = pendingInput(state);
      if (calls.length > 0) state.conversation.entries.push({ kind: 'results', calls });
    } else if (data.attempt === 1) {
      if (state.fallback) state.fallback.attempt = 0;
      state.conversation.entries.push(...entriesForNextCall(pendingInput(state), data, loopVersionOf(state)));
      state.conversation.inbox = [];
    }
    if (data.instead) state.fallback = { model: data.model, attempt: data.attempt - 1 };
    // A later attempt sends the same request: what has arrived since belongs to the next one.
    state.phase = { name: 'asking', started, asked: data, failure: null };
  },
  'model.answered': (state, data, { at }) => {
    const { phase, conversation, guards } = state;
    state.answeredAt = at;
    const started = startedFact(state);
    if (!started) return;
    if (phase.name === 'compacting') {
      if (composeCompaction(state, data)) phase.answer = data;
      else failCompaction(state);
      addModelCall(state, phase.asked.model, data);
      return;
    }
    const asked = phase.name === 'asking' ? phase.asked : { purpose: 'turn' as const, cause: null, budget: undefined, model: null };
    const { purpose, cause, budget = null, model } = asked;
    state.phase = { name: 'answered', started, answer: { ...data, purpose, cause, budget }, calls: [], nudge: null };
    // After a tool call that was cut off, an answer alone is no progress: it may call the tool that kills its process again.
    if (!guards.isCutOff) guards.takeovers = 0;
    if (purpose === 'turn') guards.turns++;
    if (guards.compactedAt !== null) guards.compactedTo ??= data.usage.input;
    if (data.content.length > 0) conversation.entries.push({ kind: 'assistant', content: data.content });
    const text = answerToText(data.content, state);
    if (text !== '') conversation.texts.push(text);
    // Only two empty answers in a row end a run.
    if (text !== '' || toolCallParts(data.content).length > 0) guards.nudged.empty = 0;
    conversation.partial = '';
    conversation.countedTokens = data.usage.input + data.usage.output;
    addModelCall(state, model, data);
  },
  'model.failed': (state, data) => {
    if (state.phase.name === 'compacting') {
      const { model } = state.phase.asked;
      if (!data.again) failCompaction(state, stopCodes.has(data.error.code));
      addModelCall(state, model, data);
      return;
    }
    if (state.phase.name === 'asking') {
      state.phase.failure = data;
      if (data.error.code === 'context_length') noteRefusal(state, state.phase.asked.model);
    }
    if (data.fallback !== null) state.fallback = { model: data.fallback, attempt: data.attempt };
    if (data.text !== '') state.conversation.partial = data.text;
    addModelCall(state, findOpenRequest(state)?.model ?? null, data);
  },
  'model.nudged': (state, data) => {
    if (state.phase.name === 'answered') state.phase.nudge = data;
    state.guards.nudged[data.reason]++;
  },
  'tool.asked': (state, data) => {
    const { phase, guards } = state;
    if (phase.name !== 'answered') return;
    if (state.files) state.files.isSaved = false;
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
    if (!data.polls) guards.recent = [...guards.recent, callKey(tool, data.arguments)].slice(-maxRecent);
    guards.repeats = data.polls ? 0 : countRepeats(guards.recent);
    if (rejected !== 'malformed') guards.malformed = { turns: 0, last: -1 };
    else if (guards.malformed.last !== turn) guards.malformed = { turns: guards.malformed.turns + 1, last: turn };
  },
  'tool.finished': (state, data) => {
    const { conversation } = state;
    const call = callAt(state, data);
    if (call) call.finished = data;
    // A call that was cut off is recorded by the process that takes over.
    if (data.status === 'unknown') state.guards.isCutOff = true;
    else Object.assign(state.guards, { takeovers: 0, isCutOff: false });
    addTaint(state, data.taint);
    addMemo(state, data.memo);
    if (data.data !== undefined) state.data = data.data;
    else if (call?.rejected === 'submit') state.guards.invalidResults++;
    if (data.told.length === 0) return;
    conversation.inbox = conversation.inbox.filter((item) => item.kind !== 'child' || !data.told.includes(item.childId));
  },
  'child.created': (state, { childId, label, agent, call, n = 0, check, continues = null }) => {
    state.guards.takeovers = 0;
    if (state.files) state.files.isSaved = false;
    if (check) {
      state.reviews = ensureOwnMap(state.reviews).set(childId, { id: childId, check, outcome: null });
      return;
    }
    state.children = ensureOwnMap(state.children);
    state.children.set(childId, { id: childId, label, agent, outcome: null, taint: [], call, n, continues });
    state.openChildren++;
    const step = call && state.flow?.steps[call.turn - 1];
    if (step) step.childId = childId;
  },
  'child.ended': (state, { childId, outcome: recorded, taint = [] }) => {
    const outcome = completeOutcome(recorded);
    const child = state.children.get(childId);
    const review = state.reviews.get(childId);
    state.guards.takeovers = 0;
    if (review) review.outcome = outcome;
    if (child?.outcome === null) state.openChildren--;
    if (child) Object.assign(child, { outcome, taint });
    if (state.flow && child?.call) finishStep(state.flow, child.call.turn, { status: 'outcome', outcome });
    addTaint(state, ['child', ...taint]);
    // A client has no conversation, and a review is not part of it.
    if (state.created.data.kind === 'agent' && !review) state.conversation.inbox.push({ kind: 'child', childId, outcome });
    addSpending(state, outcome.tokens, outcome.costUsd);
  },
  'message.received': (state, { from, text, rules = [] }) => {
    state.conversation.inbox.push({ kind: 'message', from, text });
    if (state.checks && from === checkSender) state.checks.isReported = true;
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
  'context.compacted': (state, data) => {
    const { phase } = state;
    if (phase.name !== 'compacting') return;
    state.phase = phase.last.name === 'asking' ? { ...phase.last, failure: null } : phase.last;
    applyCompaction(state, data);
    state.guards.compactedAt = state.guards.turns;
    state.guards.compactedTo = null;
    addTaint(state, data.taint);
  },
  'cancel.asked': (state, data) => {
    state.cancel ??= data;
  },
  'check.started': (state, data) => {
    state.checks = startCheck(state.checks, data, state.guards.turns);
    if (state.files) state.files.isSaved = false;
  },
  'check.finished': (state, { index, status, output }) => {
    state.guards.takeovers = 0;
    state.checks?.results.set(index, { status, output });
    addTaint(state, ['untrusted-file']);
  },
  'step.started': (state, data) => {
    if (state.flow) startStep(state.flow, data);
  },
  'step.finished': (state, data) => {
    if (data.status !== 'unknown') state.guards.takeovers = 0;
    if (state.flow) finishStep(state.flow, data.step, factToResult(data));
  },
  'flow.returned': (state, { notices = [], value }) => {
    if (state.flow) Object.assign(state.flow, { hasReturned: true, notices });
    if (typeof value === 'string') state.conversation.texts.push(value);
    else state.data = value;
  },
  'approval.asked': (state, data) => {
    if (state.flow) return addQuestion(state.flow, data);
    const { hash, expiresAt, subjects, ...at } = data;
    const call = callAt(state, at);
    if (call) call.approval = { hash, expiresAt, subjects, answer: null };
  },
  'approval.answered': (state, data) => {
    const { tool, approval } = callAt(state, data) ?? {};
    if (tool === undefined || !approval || approval.answer) return;
    approval.answer = data;
    if (!state.guards.isCutOff) state.guards.takeovers = 0;
    if (state.flow) finishStep(state.flow, data.turn, { status: 'answer', answer: data });
    if (data.allowed && data.always) {
      state.rights.always.push({ tool, hash: approval.hash, subjects: approval.subjects, by: data.by });
    }
  },
  'run.paused': (state, data, { at }) => {
    state.paused = data;
    if (data.budget !== undefined) state.budgetPauseSince ??= at;
  },
  'run.resumed': (state, { takeover = false }, { at }) => {
    state.paused = null;
    if (state.budgetPauseSince !== null) state.budgetPausedMs += Math.max(0, isoToMs(at) - isoToMs(state.budgetPauseSince));
    state.budgetPauseSince = null;
    if (takeover) state.guards.takeovers++;
  },
  'run.ended': (state, _data, fact) => {
    if (state.phase.name !== 'ended') state.phase = { name: 'ended', ended: fact, last: state.phase };
  },
};

/** Codes of calls that were stopped with their run: these say nothing about the compaction. */
const stopCodes: ReadonlySet<string> = new Set(['cancelled', 'client_gone', 'deadline', 'fenced', 'paused']);

/** The run continues with its conversation as it was. */
function failCompaction(state: RunState, isStopped = false): void {
  if (state.phase.name !== 'compacting') return;
  const { last } = state.phase;
  state.phase = last;
  if (isStopped) return;
  state.guards.compactionFailedAt = state.guards.turns;
  if (last.name === 'asking' && last.failure) state.phase = { ...last, failure: { ...last.failure, again: false } };
}

/** Remembers the size of the last conversation that this model accepted; after several refusals, the smallest such size. */
function noteRefusal(state: RunState, model: string): void {
  const { countedTokens: tokens } = state.conversation;
  if (tokens === null) return;
  const isLower = state.refusal?.model !== model || tokens < state.refusal.tokens;
  if (isLower) state.refusal = { model, tokens };
}

function addTaint(state: RunState, taint: readonly string[] = []): void {
  if (taint.length === 0) return;
  state.taint = ensureOwnSet(state.taint);
  for (const source of taint) state.taint.add(source);
}

function addMemo(state: RunState, memo: Record<string, string> = {}): void {
  // Sorted, because stored facts have sorted keys and the order counts: what was remembered last is last.
  const entries = Object.entries(memo).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length > 0) state.memo = ensureOwnMap(state.memo);
  for (const [key, value] of entries) {
    state.memo.delete(key);
    state.memo.set(key, value);
  }
}
