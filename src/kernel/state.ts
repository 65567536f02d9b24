// The state of one run: a fold of its facts (`fold.ts` has the fold itself). The loop, rows, outcomes and replay read this and nothing else, so the same
// facts give the same requests and the same outcome (invariant 9), whether the run is live, resumed or replayed.
import type { Artifact } from '../contract/artifact.ts';
import type { FactData, FactOf, LimitCause, Purpose } from '../contract/fact.ts';
import type { Ruleset } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome, Tokens } from '../contract/outcome.ts';
import { type LoopVersion, loopVersion } from '../conversation/loop-version.ts';
import type { CallState, Entry, InboxItem, Pending } from '../conversation/request.ts';
import type { AlwaysAllowed } from '../conversation/tool-calls.ts';
import { parseRule } from '../rules/policy.ts';

type Started = FactOf<'run.started'>;

/** A model's answer, with what it was asked for. */
export type RecordedAnswer = FactData['model.answered'] & { purpose: Purpose; cause: LimitCause | null };

/** The phase of a live run. A field exists only in the phases in which it means something. */
export type LivePhase =
  | { name: 'queued' }
  /** Started; the model has not been asked yet. A client stays here. */
  | { name: 'ready'; started: Started }
  | { name: 'asking'; started: Started; asked: FactData['model.asked']; failure: FactData['model.failed'] | null }
  /** `calls`: the tool calls of this answer. `nudge`: sent with the next model call. */
  | { name: 'answered'; started: Started; answer: RecordedAnswer; calls: CallState[]; nudge: FactData['model.nudged'] | null };

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
  /** The fallback model in use, and the attempt at which it took over (0: before this call). Null for the run's own model. */
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
    /** Tokens of the conversation after the last answer, as the provider counted them. */
    countedTokens: number | null;
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
    /** How often the run was taken over from a dead process since it last made progress. */
    takeovers: number;
  };
  rights: {
    /** Rulesets that narrowed the run after it was created. */
    narrowed: Ruleset[];
    /** Calls that were approved for good, for this run and its descendants. */
    always: AlwaysAllowed[];
  };
  /** What its tools remember, such as versions of files they have read. */
  memo: Map<string, string>;
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
    conversation: { entries: [], inbox: [], calls: [], texts: [], partial: '', countedTokens: null },
    guards: {
      turns: 0,
      nudged: { empty: 0, cut: 0, result: 0, summary: 0 },
      recent: [],
      repeats: 0,
      malformed: { turns: 0, last: -1 },
      invalidResults: 0,
      takeovers: 0,
    },
    rights: { narrowed: [], always: [] },
    memo: new Map(),
    data: undefined,
    artifacts: [],
    taint: new Set(),
    children: new Map(),
    openChildren: 0,
    tokens: { input: 0, output: 0, cached: 0, reasoning: 0 },
    costUsd: 0,
  };
}

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
export function loopVersionOf(state: RunState): LoopVersion {
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
    reader: loopVersionOf(state).readTool(dialect, startedFact(state)?.data.reader),
    lastPrompt: brief.result?.prompt ?? null,
  };
}
