// Rows and outcomes, computed from a run's state. Pure.
import type { Artifact } from '../../contract/artifact.ts';
import type { ErrorCode } from '../../contract/error.ts';
import type { FactData } from '../../contract/fact.ts';
import { newestFactVersion } from '../../contract/fact-version.ts';
import type { Json } from '../../contract/json.ts';
import { type OutcomeStatus, type RecordedOutcome, Terminated } from '../../contract/outcome.ts';
import type { RunRow } from '../../contract/run.ts';
import type { RunStatus } from '../../contract/run-status.ts';
import { isAwaitingApproval } from '../../conversation/tool-calls.ts';
import { canonical } from '../../text/canonical.ts';
import { cutBytes } from '../../text/cut.ts';
import { isoToMs } from '../../text/instant.ts';
import { findRunningStep, isFlowWaiting } from '../flow/state.ts';
import { createCheckArtifacts, isChecking, isInReview, isVerified } from './check-state.ts';
import { endedFact, livePhase, ownModel, type RunState, startedFact } from './state.ts';

/** How a run ends. `code` is null for success only; it is the error's code and, for limits and stops, also `terminated`. */
export interface Ending {
  status: OutcomeStatus;
  code: ErrorCode | null;
  message: string;
  retryable?: boolean;
  /** Measured by the process that drove the run; otherwise the difference of the recorded times, which jumps with the wall clock. */
  durationMs?: number;
}

export const completedEnding: Ending = { status: 'completed', code: null, message: '' };

export function createFailedEnding(code: ErrorCode, message: string, retryable = false): Ending {
  return { status: 'failed', code, message, retryable };
}

export function stateToRow(state: RunState): RunRow {
  const { brief, parentId, rootId, depth, kind, agent } = state.created.data;
  const row: RunRow = {
    activity: findActivity(state),
    agent,
    costUsd: state.costUsd,
    createdAt: state.created.at,
    depth,
    endedAt: endedFact(state)?.at ?? null,
    idempotencyKey: brief.idempotencyKey ?? null,
    kind,
    label: brief.label ?? null,
    lastHash: state.hash,
    lastSeq: state.seq,
    model: ownModel(state),
    parentId,
    rootId,
    runId: state.runId,
    startedAt: startedFact(state)?.at ?? null,
    status: computeStatus(state),
    tokens: { ...state.tokens },
    turns: state.guards.turns,
  };
  if (state.otherModels) row.otherModels = state.otherModels.map((each) => ({ ...each, tokens: { ...each.tokens } }));
  return row;
}

function computeStatus(state: RunState): RunStatus {
  const { phase } = state;
  if (phase.name === 'ended') return phase.ended.data.outcome.status;
  if (state.paused) return 'paused';
  if (phase.name === 'queued') return 'queued';
  return isWaiting(state) ? 'waiting' : 'running';
}

/** True if only children and approvals are open: nothing to do until one of them changes. */
export function isWaiting(state: RunState): boolean {
  const phase = livePhase(state);
  if (state.flow) return isFlowWaiting(state.flow);
  if (phase.name === 'ready') return state.created.data.kind === 'client' && state.openChildren > 0;
  if (phase.name !== 'answered') return false;
  if (isInReview(state.reviews)) return true;
  const open = phase.calls.filter((call) => !call.finished);
  if (state.openChildren === 0 && !open.some(isAwaitingApproval)) return false;
  if (open.length > 0) return open.every((call) => call.waits || isAwaitingApproval(call));
  return phase.calls.length === 0 && state.conversation.inbox.length === 0;
}

function findActivity({ phase, flow, checks }: RunState): string | null {
  if (flow) return phase.name === 'ended' ? null : (findRunningStep(flow)?.name ?? null);
  if (phase.name === 'asking' || phase.name === 'compacting') return 'model';
  if (phase.name !== 'answered') return null;
  return isChecking(checks) ? 'check' : (phase.calls.find((call) => !call.finished)?.tool ?? null);
}

/** The outcome of a run that ends at `endedAt`, as `version` of `run.ended` has it. */
export function stateToOutcome(
  state: RunState,
  ending: Ending,
  { endedAt, version = newestFactVersion('run.ended') }: { endedAt: string; version?: number },
): RecordedOutcome {
  const { brief, parentId, rootId, depth, agent, missingTools } = state.created.data;
  const success = ending.status === 'completed';
  const verified = isVerified(state.checks, brief.checks?.length ?? 0);
  const cut = cutBytes(composeSummary(state, success), findMaxSummaryBytes(state));
  const startedAt = startedFact(state)?.at ?? null;
  const { prepared, saved } = state.files ?? {};
  const notices = [
    ...(missingTools === undefined ? [] : [missingTools]),
    ...(state.session?.notices ?? []),
    ...(state.flow?.notices ?? []),
    ...(prepared?.notices ?? []),
    ...(saved?.notices ?? []),
  ];
  return {
    runId: state.runId,
    parentId,
    rootId,
    depth,
    label: brief.label ?? null,
    agent,
    status: ending.status,
    success,
    ...(verified === undefined ? {} : { verified }),
    summary: cut.text,
    ...(success && state.data !== undefined ? { data: state.data } : {}),
    artifacts: [
      ...state.artifacts.filter((artifact) => !isUnstored(artifact, saved)),
      ...(saved?.artifact ? [saved.artifact] : []),
      ...(version >= 4 ? createCheckArtifacts(state.checks, brief.checks) : []),
    ],
    error: ending.code === null ? null : { code: ending.code, message: ending.message, retryable: ending.retryable ?? false },
    terminated: Terminated.safeParse(ending.code).data ?? null,
    truncated: cut.keptBytes < cut.originalBytes ? { originalBytes: cut.originalBytes, keptBytes: cut.keptBytes } : null,
    turns: state.guards.turns,
    tokens: { ...state.tokens },
    costUsd: state.costUsd,
    startedAt,
    endedAt,
    durationMs: ending.durationMs ?? (startedAt === null ? 0 : Math.max(0, Math.round(isoToMs(endedAt) - isoToMs(startedAt)))),
    ...(notices.length === 0 ? {} : { notices }),
  };
}

/** Whether an artifact is about a file of the run's own that was not stored: it is deleted with the others. */
function isUnstored({ kind, title, value }: Artifact, saved: FactData['workspace.saved'] | null | undefined): boolean {
  const path = kind === 'path' ? value : kind === 'diff' ? title : undefined;
  return path !== undefined && (saved?.unstored ?? []).some((each) => each === path || (each.endsWith('/') && path.startsWith(each)));
}

/** A child's summary is cut to what its parent accepts; a root's only if its brief says so. */
function findMaxSummaryBytes(state: RunState): number {
  const { brief, grant, depth } = state.created.data;
  const own = brief.result?.maxBytes ?? Number.POSITIVE_INFINITY;
  const parents = depth > 0 ? (grant.limits.maxOutputBytes.value ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
  return Math.min(own, parents);
}

/** The uncut summary: the last text, or all texts in mode `full`; for a run without success, the best partial text. */
export function composeSummary(state: RunState, success: boolean): string {
  const { texts, partial } = state.conversation;
  const full = state.created.data.brief.result?.mode === 'full';
  const text = full ? texts.join('\n') : (texts.at(-1) ?? '');
  if (success) return text !== '' ? text : dataToText(state.data);
  if (full && partial !== '') return `${text}\n${partial}`.trim();
  return partial !== '' ? partial : text;
}

/** With sorted keys, as facts have them: a resumed run must give the same text. */
function dataToText(data: Json | undefined): string {
  return data === undefined ? '' : canonical(data);
}
