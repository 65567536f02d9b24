// Replay: the kernel's own decisions made again over recorded facts, one after the other, and held against what was recorded. Pure: there is
// no model, tool, clock, network or file to call. What came from outside (answers, results, messages, orders) is taken as recorded; what
// the kernel made of it (requests, steps, nudges, the outcome) must come out the same, byte for byte (invariant 9).
import type { Fact, FactOf } from '../contract/fact.ts';
import type { Json } from '../contract/json.ts';
import { parseArguments } from '../conversation/arguments.ts';
import { buildRequest, entriesForNextCall, type Pinned } from '../conversation/request.ts';
import { callHash, callKey, callParts, countRepeats, maxRecent } from '../kernel/calls.ts';
import { nextStep, repeatRefused } from '../kernel/decide.ts';
import { type Ending, failed, outcomeOf } from '../kernel/fold.ts';
import { msOf } from '../kernel/journal.ts';
import { callAt, initialState, pendingOf, type RunState, reduce } from '../kernel/state.ts';
import { canonical } from '../text/canonical.ts';

/** The first fact that differs, with what the kernel makes of the facts before it. */
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
  /** Requests whose hash came out the same. */
  requests: number;
  difference: Difference | null;
}

/** Replays the facts of one run, in order. `pinned` is null for a client, which asks no model. */
export function replayRun(facts: Fact[], pinned: Pinned | null): ReplayResult {
  const [first] = facts;
  if (first?.type !== 'run.created') throw new Error('the facts of a run begin with run.created');
  const state = initialState(first);
  let requests = 0;
  for (const fact of facts.slice(1)) {
    const wrong = differs(state, fact, pinned);
    if (wrong) return { runId: first.runId, facts: facts.length, requests, difference: { seq: fact.seq, type: fact.type, ...wrong } };
    if (fact.type === 'model.asked') requests++;
    reduce(state, fact);
  }
  return { runId: first.runId, facts: facts.length, requests, difference: null };
}

type Wrong = { what: string; recorded: Json; rebuilt: Json } | null;

function differs(state: RunState, fact: Fact, pinned: Pinned | null): Wrong {
  if (state.ended) return wrong('a fact after the end', fact.type, null);
  switch (fact.type) {
    case 'model.asked':
      return asked(state, fact, pinned);
    case 'model.answered':
    case 'model.failed':
      return state.asked ? null : wrong('an answer to no question', fact.type, null);
    case 'tool.asked':
      return call(state, fact);
    case 'approval.asked':
    case 'approval.answered': {
      const open = callAt(state, fact.data);
      return same('what was asked about', fact.data.hash, open && !open.finished ? callHash(open.tool, open.arguments) : null);
    }
    case 'tool.finished': {
      const open = callAt(state, fact.data);
      return open && !open.finished ? null : wrong('a result of no open call', [fact.data.turn, fact.data.index], null);
    }
    case 'model.nudged': {
      const step = nextStep(state);
      return same('the nudge', fact.data, step.do === 'nudge' ? step.draft.data : step.do);
    }
    case 'run.ended':
      return same('the outcome', fact.data.outcome, outcomeAgain(state, fact));
    default:
      return null;
  }
}

function asked(state: RunState, { seq, data }: FactOf<'model.asked'>, pinned: Pinned | null): Wrong {
  const { attempt, purpose, cause, upTo, turn, request, maxOutputTokens } = data;
  const step = nextStep(state);
  const again = state.asked !== null;
  // A wrap-up for tokens or money comes from the budget of the whole tree, which only the moment knew.
  const limited = purpose === 'wrap-up' && (cause === 'max_tokens' || cause === 'max_cost') && step.do === 'ask';
  const expected =
    step.do === 'ask' ? { cause: limited ? cause : step.cause, purpose: limited ? purpose : step.purpose } : { step: step.do };
  const wrongStep = same('the step', { cause, purpose }, expected);
  if (wrongStep) return wrongStep;
  const place = { attempt: (state.asked?.attempt ?? 0) + 1, turn: state.turns + 1, upTo: again ? (state.asked?.upTo ?? 0) : seq - 1 };
  const wrongPlace = same('the place of the request', { attempt, turn, upTo }, place);
  if (wrongPlace || !pinned) return wrongPlace;
  const entries = again ? state.entries : [...state.entries, ...entriesForNextCall(pendingOf(state), purpose, cause)];
  const rebuilt = buildRequest(pinned, entries, { purpose, maxOutputTokens });
  if (rebuilt.hash === request) return null;
  return wrong('the request', request, { hash: rebuilt.hash, messages: rebuilt.options.prompt.slice(-3) as unknown as Json });
}

/** The call as the answer has it, and whether it was one too many of the same. Which rule decided it is taken as recorded. */
function call(state: RunState, { data }: FactOf<'tool.asked'>): Wrong {
  const part = callParts(state.answer?.content ?? [])[data.index];
  if (!part) return wrong('a call that the answer does not have', data.index, null);
  const parsed = parseArguments(part.input);
  const read = parsed.ok ? parsed.value : part.input;
  const args = data.rejected === 'duplicate' ? part.input : read;
  const unequal = same('the call', { arguments: data.arguments, tool: data.tool }, { arguments: args, tool: part.tool });
  if (unequal) return unequal;
  const repeats = countRepeats([...state.recent, callKey(data.tool, data.arguments)].slice(-maxRecent));
  if (data.rejected === null && repeats >= repeatRefused) return wrong('a repeated call was made', data.arguments, 'repeated');
  return data.rejected === 'repeated' && repeats < repeatRefused ? wrong('a call was refused as repeated', repeats, repeatRefused) : null;
}

/** The outcome as the facts before it give it. An end that came from outside (a cancel, the deadline, a host) is known by its error alone. */
function outcomeAgain(state: RunState, { at, data }: FactOf<'run.ended'>): Json {
  const step = state.started && state.created.data.kind === 'agent' ? nextStep(state) : null;
  const own = step?.do === 'end' ? step.ending : ownFailure(state);
  const { status, error } = data.outcome;
  if (step && step.do !== 'end' && status === 'completed') return { step: step.do };
  const outside: Ending = { status, code: error?.code ?? null, message: error?.message ?? '', retryable: error?.retryable ?? false };
  const isOwn = own && own.status === status && own.code === outside.code && outside.message.startsWith(own.message);
  const ending = isOwn ? { ...own, message: outside.message } : outside;
  return outcomeOf(state, ending, { iso: at, ms: msOf(at), startedMs: state.started ? msOf(state.started.at) : null }) as unknown as Json;
}

function ownFailure({ failure }: RunState): Ending | null {
  return failure && !failure.again ? failed(failure.error.code, failure.error.message, failure.error.retryable) : null;
}

function same(what: string, recorded: unknown, rebuilt: unknown): Wrong {
  return canonical(recorded) === canonical(rebuilt) ? null : wrong(what, recorded as Json, rebuilt as Json);
}

function wrong(what: string, recorded: Json, rebuilt: Json): Wrong {
  return { what, recorded, rebuilt };
}
