// The state of one run: a fold of its facts (`fold.ts` has the fold itself). The loop, rows, outcomes and replay read this and nothing else, so the same
// facts give the same requests and the same outcome (invariant 9), whether the run is live, resumed or replayed.
import type { Artifact } from '../../contract/artifact.ts';
import type { ContentPart } from '../../contract/content.ts';
import type { FactData, FactOf, LimitCause, Purpose } from '../../contract/fact.ts';
import type { Ruleset } from '../../contract/grant.ts';
import type { Json } from '../../contract/json.ts';
import type { Outcome, Tokens } from '../../contract/outcome.ts';
import type { ModelSpending } from '../../contract/run.ts';
import { findLoopVersion, type LoopVersion } from '../../conversation/loop-version.ts';
import type { CallState, ConversationEntry, InboxItem, PendingInput } from '../../conversation/request.ts';
import { type AlwaysAllowed, contentToText } from '../../conversation/tool-calls.ts';
import { parseRule } from '../../rules/policy.ts';
import { isoToMs, msToIso } from '../../text/instant.ts';
import type { FlowState } from '../flow/state.ts';
import type { CheckState, ReviewState } from './check-state.ts';
import { sharedEmptyMap, sharedEmptySet } from './shared-empty.ts';

type Started = FactOf<'run.started'>;

/** Providers keep their cache of a conversation for five minutes unless they are asked for more. */
export const cacheLifetimeMs = 300_000;

/** A model's answer, with what it was asked for. */
export type RecordedAnswer = FactData['model.answered'] & { purpose: Purpose; cause: LimitCause | null; budget: string | null };

/** The phase of a live run. A field exists only in the phases in which it means something. */
export type LivePhase =
  | { name: 'queued' }
  /** Started; the model has not been asked yet. A client stays here. */
  | { name: 'ready'; started: Started }
  /** `failure` with `next`: the conversation is compacted before the next attempt; without `again`, that has failed too. */
  | { name: 'asking'; started: Started; asked: FactData['model.asked']; failure: FactData['model.failed'] | null }
  /** `calls`: the tool calls of this answer. `nudge`: sent with the next model call. */
  | { name: 'answered'; started: Started; answer: RecordedAnswer; calls: CallState[]; nudge: FactData['model.nudged'] | null }
  /** The model was asked for a summary of the conversation. `answer`: a usable one. `last`: the phase to return to. */
  | {
      name: 'compacting';
      started: Started;
      asked: FactData['model.asked'];
      answer: FactData['model.answered'] | null;
      last: Extract<LivePhase, { name: 'ready' | 'answered' | 'asking' }>;
    };

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
  /** The run whose conversation it continues. */
  continues: string | null;
}

export interface RunState {
  readonly runId: string;
  readonly created: FactOf<'run.created'>;
  seq: number;
  hash: string;
  phase: Phase;
  cancel: FactData['cancel.asked'] | null;
  paused: FactData['run.paused'] | null;
  /** When the current pause for a shared budget began. */
  budgetPauseSince: string | null;
  /** How long the run was paused for shared budgets: its deadline is this much later. */
  budgetPausedMs: number;
  /** The fallback model in use, and the attempt at which it took over (0: before this call). Null for the run's own model. */
  fallback: { model: string; attempt: number } | null;
  conversation: {
    entries: ConversationEntry[];
    inbox: InboxItem[];
    /** Every tool call that is part of the conversation, in order. */
    calls: CallState[];
    /** Text of each answer that had any. */
    texts: string[];
    /** Text of an answer that broke off. */
    partial: string;
    /** Tokens of the conversation after the last answer, as the provider counted them. */
    countedTokens: number | null;
  };
  /** A model that refused a request as too long, and the tokens of the last conversation that it took. */
  refusal: { model: string; tokens: number } | null;
  /** When the model last answered, and whether the run has ever waited longer than `cacheLifetimeMs` before the next call. */
  answeredAt: string | null;
  hasWaitedLong: boolean;
  /** Counters that `nextStep` compares with the loop's limits. */
  guards: {
    /** Answered model calls. Wrap-up, summary and compaction do not count. */
    turns: number;
    /** The turns after which the conversation was last compacted, and could not be; null if never. */
    compactedAt: number | null;
    /** Tokens of the first request after the last compaction. */
    compactedTo: number | null;
    compactionFailedAt: number | null;
    nudged: { empty: number; cut: number; result: number; summary: number };
    /** Keys of the latest tool calls, and how often they repeat. */
    recent: string[];
    repeats: number;
    /** Turns in a row with a tool call that does not parse, and the last such turn. */
    malformed: { turns: number; last: number };
    invalidResults: number;
    /** How often the run was taken over from a dead process since it last made progress. */
    takeovers: number;
    /** Whether a tool call was cut off since the last one that finished. */
    isCutOff: boolean;
  };
  rights: {
    /** Rulesets that narrowed the run after it was created. */
    narrowed: Ruleset[];
    /** Calls that were approved for good, for this run and its descendants. */
    always: AlwaysAllowed[];
  };
  /** How often its conversation was compacted. */
  compactions: number;
  /** The session of an external agent; null until it has one. */
  session: FactData['session.opened'] | null;
  /** What its tools remember, such as versions of files they have read. */
  memo: Map<string, string>;
  /** Where its files are, if they are not its parent's; `isSaved`: nothing may have changed since they were prepared or saved last. */
  files: { prepared: FactData['workspace.prepared']; saved: FactData['workspace.saved'] | null; isSaved: boolean } | null;
  /** Plans that were not carried out yet, by id. */
  plans: Map<string, FactData['changes.planned']>;
  data: Json | undefined;
  artifacts: Artifact[];
  /** Sources of everything its tools and children reported. */
  taint: Set<string>;
  children: Map<string, ChildState>;
  openChildren: number;
  /** Null before the first acceptance check. */
  checks: CheckState | null;
  /** Runs that review it; `children` has the others. */
  reviews: Map<string, ReviewState>;
  /** Null if the run is not a flow. */
  flow: FlowState | null;
  /** Of the run and everything below it; `costUsd` is null once a price was unknown. */
  tokens: Tokens;
  costUsd: number | null;
  /** The part of it that other models than the run's own used, such as one that it fell back to; null if there is none. */
  otherModels: ModelSpending[] | null;
}

export function createRunState(fact: FactOf<'run.created'>): RunState {
  return {
    runId: fact.runId,
    created: fact,
    seq: fact.seq,
    hash: fact.hash,
    phase: { name: 'queued' },
    cancel: null,
    paused: null,
    budgetPauseSince: null,
    budgetPausedMs: 0,
    fallback: null,
    conversation: { entries: [], inbox: [], calls: [], texts: [], partial: '', countedTokens: null },
    refusal: null,
    answeredAt: null,
    hasWaitedLong: false,
    guards: {
      turns: 0,
      compactedAt: null,
      compactedTo: null,
      compactionFailedAt: null,
      nudged: { empty: 0, cut: 0, result: 0, summary: 0 },
      recent: [],
      repeats: 0,
      malformed: { turns: 0, last: -1 },
      invalidResults: 0,
      takeovers: 0,
      isCutOff: false,
    },
    rights: { narrowed: [], always: [] },
    compactions: 0,
    session: null,
    memo: sharedEmptyMap(),
    files: null,
    plans: sharedEmptyMap(),
    data: undefined,
    artifacts: [],
    taint: sharedEmptySet(),
    children: sharedEmptyMap(),
    openChildren: 0,
    checks: null,
    reviews: sharedEmptyMap(),
    flow: fact.data.kind === 'flow' ? { steps: [], finished: [], hasReturned: false, notices: [] } : null,
    tokens: { input: 0, output: 0, cached: 0, reasoning: 0 },
    costUsd: 0,
    otherModels: null,
  };
}

/** The phase of a run, or the one it ended in. */
export function livePhase({ phase }: RunState): LivePhase {
  return phase.name === 'ended' ? phase.last : phase;
}

/** The same without a compaction under way. */
export function settledPhase(state: RunState): Exclude<LivePhase, { name: 'compacting' }> {
  const phase = livePhase(state);
  return phase.name === 'compacting' ? phase.last : phase;
}

/** The model request that has no answer yet. */
export function findOpenRequest({ phase }: RunState): FactData['model.asked'] | null {
  return phase.name === 'asking' || (phase.name === 'compacting' && phase.answer === null) ? phase.asked : null;
}

/** The same, if it is for this purpose: a compaction can be part of an open request. */
export function findOpenRequestFor(state: RunState, purpose: Purpose): FactData['model.asked'] | null {
  const open = findOpenRequest(state);
  return open !== null && (open.purpose === 'compact') === (purpose === 'compact') ? open : null;
}

export function startedFact(state: RunState): Started | null {
  const phase = livePhase(state);
  return phase.name === 'queued' ? null : phase.started;
}

/** The model that it started with; null for a client or a flow. */
export function ownModel(state: RunState): string | null {
  return startedFact(state)?.data.model ?? state.created.data.model;
}

/** The deadline on the wall clock, without the current pause; null before the start, and for a client. */
export function deadlineOf(state: RunState): string | null {
  const deadline = startedFact(state)?.data.deadline ?? null;
  return deadline === null || state.budgetPausedMs === 0 ? deadline : msToIso(isoToMs(deadline) + state.budgetPausedMs);
}

export function endedFact({ phase }: RunState): FactOf<'run.ended'> | null {
  return phase.name === 'ended' ? phase.ended : null;
}

/** Tool calls of the last answer; none while the model is being asked. */
export function currentCalls(state: RunState): CallState[] {
  const phase = settledPhase(state);
  return phase.name === 'answered' ? phase.calls : [];
}

/** A call of the last answer, or a question of a flow. */
export function callAt(state: RunState, { turn, index }: { turn: number; index: number }): CallState | undefined {
  if (state.flow) return state.flow.steps[turn - 1]?.question ?? undefined;
  return currentCalls(state).find((call) => call.turn === turn && call.index === index);
}

/** The texts and limits of the loop version that the run started with. */
export function loopVersionOf(state: RunState): LoopVersion {
  return findLoopVersion(startedFact(state)?.data.loop);
}

/** The text of an answer; empty if it says nothing. */
export function answerToText(content: ContentPart[], state: RunState): string {
  const text = contentToText(content);
  return loopVersionOf(state).isEmptyAnswer?.(text) ? '' : text;
}

/** Rules that came with a message, as a ruleset that only narrows. */
export function messageRuleset(from: string, rules: string[]): Ruleset {
  return { kind: 'narrowing', owner: `a message from ${from}`, rules: rules.map(parseRule) };
}

/** Everything that the next model call adds to the conversation. */
export function pendingInput(state: RunState): PendingInput {
  const phase = settledPhase(state);
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
