// Replays a run: repeats the kernel's decisions from the recorded facts and compares them with the recorded ones. Pure: it calls no model, tool, clock,
// network or file. Input from outside (answers, results, messages, orders) is taken as recorded. Everything the kernel computed from it (requests,
// steps, nudges, the outcome) must be the same, byte for byte (invariant 9).
import type { Fact, FactOf } from '../contract/fact.ts';
import type { Json } from '../contract/json.ts';
import { parseArguments } from '../conversation/arguments.ts';
import { buildRequest, entriesForNextCall, type PinnedParts } from '../conversation/request.ts';
import { callKey, callPin, countRepeats, hashCall, maxRecent, toolCallParts } from '../conversation/tool-calls.ts';
import { buildCompactionEntries, canCompact, findCurrentPinned } from '../kernel/loop/compaction.ts';
import { applyFact } from '../kernel/state/fold.ts';
import { nextStep } from '../kernel/state/next-step.ts';
import { createFailedEnding, type Ending, stateToOutcome } from '../kernel/state/outcome.ts';
import {
  callAt,
  createRunState,
  findOpenRequest,
  findOpenRequestFor,
  livePhase,
  loopVersionOf,
  pendingInput,
  type RunState,
  startedFact,
} from '../kernel/state/state.ts';
import { canonical } from '../text/canonical.ts';

/** The first fact that differs, and what the kernel computes from the facts before it. */
export interface Difference {
  seq: number;
  type: Fact['type'];
  what: string;
  recorded: Json;
  rebuilt: Json;
}

export interface ReplayResult {
  runId: string;
  facts: number;
  /** Requests with the same hash as recorded. */
  requests: number;
  difference: Difference | null;
}

/** Replays the facts of one run, in order. `pinned` is null for a client, which has no model. */
export function replayRun(facts: Fact[], pinned: PinnedParts | null): ReplayResult {
  const [first] = facts;
  if (first?.type !== 'run.created') throw new Error('the facts of a run begin with run.created');
  const state = createRunState(first);
  let requests = 0;
  for (const fact of facts.slice(1)) {
    const difference = compareFact(state, fact, pinned);
    if (difference)
      return { runId: first.runId, facts: facts.length, requests, difference: { seq: fact.seq, type: fact.type, ...difference } };
    if (fact.type === 'model.asked') requests++;
    applyFact(state, fact);
  }
  return { runId: first.runId, facts: facts.length, requests, difference: null };
}

type Mismatch = { what: string; recorded: Json; rebuilt: Json } | null;

function compareFact(state: RunState, fact: Fact, pinned: PinnedParts | null): Mismatch {
  if (state.phase.name === 'ended') return mismatch('a fact after the end', fact.type, null);
  // The calls of a client are recorded as they came: there is no answer of a model to compare them with.
  if (state.created.data.kind === 'client' && (fact.type === 'tool.asked' || fact.type === 'tool.finished')) return null;
  // An external agent writes its own requests and reports its own calls.
  if (state.created.data.external && (fact.type === 'model.asked' || fact.type === 'tool.asked')) return null;
  switch (fact.type) {
    case 'model.asked':
      return compareRequest(state, fact, pinned);
    case 'model.answered':
    case 'model.failed':
      return findOpenRequest(state) ? null : mismatch('an answer without a request', fact.type, null);
    case 'tool.asked':
      return compareCall(state, fact);
    case 'approval.asked':
    case 'approval.answered': {
      // The question of a flow is its own call.
      if (state.flow && fact.type === 'approval.asked')
        return compare('the call in question', fact.data.hash, hashCall(fact.data.tool, fact.data.arguments));
      const open = callAt(state, fact.data);
      return compare('the call in question', fact.data.hash, open && !open.finished ? callPin(open) : null);
    }
    case 'tool.finished': {
      const open = callAt(state, fact.data);
      return open && !open.finished ? null : mismatch('a result without an open call', [fact.data.turn, fact.data.index], null);
    }
    case 'model.nudged': {
      const step = nextStep(state);
      return compare('the nudge', fact.data, step.do === 'nudge' ? step.draft.data : step.do);
    }
    case 'context.compacted': {
      const step = nextStep(state);
      return compare('the hand-over', fact.data, step.do === 'compact' ? step.draft.data : step.do);
    }
    case 'run.ended':
      return compare('the outcome', fact.data.outcome, rebuildOutcome(state, fact));
    default:
      return null;
  }
}

function compareRequest(state: RunState, { seq, data }: FactOf<'model.asked'>, pinned: PinnedParts | null): Mismatch {
  const { attempt, purpose, cause, upTo, turn, request, maxOutputTokens, effort = null } = data;
  const step = nextStep(state);
  const open = findOpenRequestFor(state, purpose);
  // Whether tokens or money were left depended on the whole tree, which only the live run knew.
  const isBudget = purpose === 'wrap-up' && (cause === 'max_tokens' || cause === 'max_cost') && step.do === 'ask';
  // So did how near the window was, and whether a compaction was ordered.
  const isCompaction = purpose === 'compact' && step.do === 'ask' && step.purpose === 'turn' && canCompact(state);
  const isLive = isBudget || isCompaction;
  const expected = step.do === 'ask' ? { cause: isLive ? cause : step.cause, purpose: isLive ? purpose : step.purpose } : { step: step.do };
  const numbers = { attempt: (open?.attempt ?? 0) + 1, turn: state.guards.turns + 1, upTo: open?.upTo ?? seq - 1 };
  const different =
    compare('the step', { cause, purpose }, expected) ?? compare('the numbers of the request', { attempt, turn, upTo }, numbers);
  if (different) return different;
  // Only the model in use knows whether it can be told.
  const wanted = state.created.data.effort ?? null;
  if (effort !== null && effort !== wanted) return mismatch('the effort', effort, wanted);
  if (!pinned) return null;
  const texts = loopVersionOf(state);
  const added = open ? [] : entriesForNextCall(pendingInput(state), { purpose, cause }, texts);
  const entries = purpose === 'compact' ? buildCompactionEntries(state) : [...state.conversation.entries, ...added];
  const rebuilt = buildRequest(findCurrentPinned(state, pinned), entries, { purpose, maxOutputTokens, effort, texts });
  if (rebuilt.hash === request) return null;
  return mismatch('the request', request, { hash: rebuilt.hash, messages: rebuilt.options.prompt.slice(-3) as unknown as Json });
}

/** Compares a call with the answer, and whether it repeats earlier calls too often. The decision of the rules is taken as recorded. */
function compareCall(state: RunState, { data }: FactOf<'tool.asked'>): Mismatch {
  const phase = livePhase(state);
  const part = phase.name === 'answered' ? toolCallParts(phase.answer.content)[data.index] : undefined;
  if (!part) return mismatch('a call that is not in the answer', data.index, null);
  const parsed = parseArguments(part.input);
  const read = parsed.ok ? parsed.value : part.input;
  const args = data.rejected === 'duplicate' ? part.input : read;
  const different = compare('the call', { arguments: data.arguments, tool: data.tool }, { arguments: args, tool: part.tool });
  if (different) return different;
  const { repeatRefused } = loopVersionOf(state).limits;
  const repeats = countRepeats([...state.guards.recent, callKey(data.tool, data.arguments)].slice(-maxRecent));
  if (data.rejected === null && repeats >= repeatRefused) return mismatch('a repeated call was made', data.arguments, 'repeated');
  return data.rejected === 'repeated' && repeats < repeatRefused
    ? mismatch('a call was refused as repeated', repeats, repeatRefused)
    : null;
}

/** The outcome, computed from the facts before it. An end from outside (cancel, deadline, a crashed process) is known only by its recorded error. */
function rebuildOutcome(state: RunState, { at, data, v }: FactOf<'run.ended'>): Json {
  const step = startedFact(state) && state.created.data.kind === 'agent' ? nextStep(state) : null;
  const own = step?.do === 'end' ? step.ending : ownFailure(state);
  const { status, error } = data.outcome;
  if (step && step.do !== 'end' && status === 'completed') return { step: step.do };
  const outside: Ending = { status, code: error?.code ?? null, message: error?.message ?? '', retryable: error?.retryable ?? false };
  const isOwn = own && own.status === status && own.code === outside.code && outside.message.startsWith(own.message);
  const { durationMs } = data.outcome;
  const ending = isOwn ? { ...own, message: outside.message, durationMs } : { ...outside, durationMs };
  return stateToOutcome(state, ending, { endedAt: at, version: v }) as unknown as Json;
}

function ownFailure(state: RunState): Ending | null {
  const phase = livePhase(state);
  const failure = phase.name === 'asking' ? phase.failure : null;
  return failure && !failure.again ? createFailedEnding(failure.error.code, failure.error.message, failure.error.retryable) : null;
}

function compare(what: string, recorded: unknown, rebuilt: unknown): Mismatch {
  return canonical(recorded) === canonical(rebuilt) ? null : mismatch(what, recorded as Json, rebuilt as Json);
}

function mismatch(what: string, recorded: Json, rebuilt: Json): Mismatch {
  return { what, recorded, rebuilt };
}
