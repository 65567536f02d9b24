// Rows and outcomes: what is read off a run's state. Pure; invariant 9 rests on it.
import type { ErrorCode } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome, OutcomeStatus, Terminated } from '../contract/outcome.ts';
import { Terminated as TerminatedSchema } from '../contract/outcome.ts';
import type { RunRow, RunStatus } from '../contract/run.ts';
import { cutBytes } from '../text/cut.ts';
import { isUnanswered } from './calls.ts';
import type { RunState } from './state.ts';

/** How a run ends. `code` is null for success only; it is both the error's code and, where it is a cause of its own, `terminated`. */
export interface Ending {
  status: OutcomeStatus;
  code: ErrorCode | null;
  message: string;
  retryable?: boolean;
}

export const completed: Ending = { status: 'completed', code: null, message: '' };

export function failed(code: ErrorCode, message: string, retryable = false): Ending {
  return { status: 'failed', code, message, retryable };
}

/** The row of a run. */
export function rowOf(state: RunState): RunRow {
  const { brief, parentId, rootId, depth, kind, agent, model } = state.created.data;
  return {
    activity: activityOf(state),
    agent,
    costUsd: state.costUsd,
    createdAt: state.created.at,
    depth,
    endedAt: state.ended?.at ?? null,
    idempotencyKey: brief.idempotencyKey ?? null,
    kind,
    label: brief.label ?? null,
    lastHash: state.hash,
    lastSeq: state.seq,
    model: state.started?.data.model ?? model,
    parentId,
    rootId,
    runId: state.runId,
    startedAt: state.started?.at ?? null,
    status: statusOf(state),
    tokens: { ...state.tokens },
    turns: state.turns,
  };
}

function statusOf(state: RunState): RunStatus {
  if (state.ended) return state.ended.data.outcome.status;
  if (state.paused) return 'paused';
  if (!state.started) return 'queued';
  return isWaiting(state) ? 'waiting' : 'running';
}

/** A run waits when nothing is open but children and questions: its delegation calls, or everything it has to say is said. */
function isWaiting(state: RunState): boolean {
  const open = state.calls.filter((call) => !call.finished);
  if (state.asked || (openChildren(state) === 0 && !open.some(isUnanswered))) return false;
  if (state.created.data.kind === 'client') return true;
  if (open.length > 0) return open.every((call) => call.waits || isUnanswered(call));
  return state.calls.length === 0 && state.answer !== null && state.inbox.length === 0;
}

export function openChildren(state: RunState): number {
  let open = 0;
  for (const child of state.children.values()) if (child.outcome === null) open++;
  return open;
}

function activityOf(state: RunState): string | null {
  if (state.ended) return null;
  if (state.asked) return 'model';
  return state.calls.find((call) => !call.finished)?.tool ?? null;
}

/** The outcome of a run that ends now, `at`. Keys are in the order of the contract. */
export function outcomeOf(state: RunState, ending: Ending, at: { iso: string; ms: number; startedMs: number | null }): Outcome {
  const { brief, parentId, rootId, depth, agent } = state.created.data;
  const success = ending.status === 'completed';
  const whole = summaryOf(state, success);
  const cut = cutBytes(whole, summaryCap(state));
  const outcome: Outcome = {
    runId: state.runId,
    parentId,
    rootId,
    depth,
    label: brief.label ?? null,
    agent,
    status: ending.status,
    success,
    summary: cut.text,
    ...(success && state.data !== undefined ? { data: state.data } : {}),
    artifacts: state.artifacts,
    error: ending.code === null ? null : { code: ending.code, message: ending.message, retryable: ending.retryable ?? false },
    terminated: terminatedBy(ending.code),
    truncated: cut.keptBytes < cut.originalBytes ? { originalBytes: cut.originalBytes, keptBytes: cut.keptBytes } : null,
    turns: state.turns,
    tokens: { ...state.tokens },
    costUsd: state.costUsd,
    startedAt: state.started?.at ?? null,
    endedAt: at.iso,
    durationMs: at.startedMs === null ? 0 : Math.max(0, Math.round(at.ms - at.startedMs)),
  };
  return outcome;
}

function terminatedBy(code: ErrorCode | null): Terminated | null {
  const parsed = TerminatedSchema.safeParse(code);
  return parsed.success ? parsed.data : null;
}

/** What goes into a parent's context is cut; a root's own outcome only where the brief says so. */
function summaryCap(state: RunState): number {
  const { brief, grant, depth } = state.created.data;
  const own = brief.result?.maxBytes ?? Number.POSITIVE_INFINITY;
  const parents = depth > 0 ? (grant.limits.maxOutputBytes.value ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
  return Math.min(own, parents);
}

/** The whole text of a run: the last thing it said, or all of it; the best partial text where it did not come to an end. */
export function summaryOf(state: RunState, success: boolean): string {
  const full = state.created.data.brief.result?.mode === 'full';
  const said = full ? state.texts.join('\n') : (state.texts.at(-1) ?? '');
  if (success) return said !== '' ? said : dataText(state.data);
  if (full && state.partial !== '') return `${said}\n${state.partial}`.trim();
  return state.partial !== '' ? state.partial : said;
}

function dataText(data: Json | undefined): string {
  return data === undefined ? '' : JSON.stringify(data);
}
