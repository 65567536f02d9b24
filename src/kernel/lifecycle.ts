// Drives a run in this process, then settles or suspends it. A run ends with exactly one `run.ended`, in the same transaction as its parent's
// `child.ended` (invariants 1 and 2). If the tree is lost, nothing more is recorded.
import { completeOutcome } from '../contract/complete-outcome.ts';
import { RetinueError } from '../contract/error.ts';
import type { Draft } from '../contract/fact.ts';
import type { RecordedOutcome } from '../contract/outcome.ts';
import { keepCanonical } from '../text/canonical.ts';
import type { Journal, RunDrafts } from './journal.ts';
import { pausedFact } from './pause.ts';
import type { Run, StopCause } from './run.ts';
import type { Services } from './services.ts';
import { createFailedEnding, type Ending, stateToOutcome, stateToRow } from './state/outcome.ts';
import { endedFact } from './state/state.ts';
import { stopToEnding } from './stop-to-ending.ts';
import { saveWorkspace, type WorkspaceEnd } from './workspace.ts';

/** What a driver ended with. `childCause`: why children that are still running are stopped. */
export interface DriverResult {
  ending: Ending;
  childCause?: StopCause;
}

/**
 * Decides what a run does: the model loop, an external agent, a flow or a client. Admission, rules, budget, journal, stopping and settling are the
 * same for all drivers. Null: the run was stopped from outside.
 */
export type Driver = (run: Run, services: Services) => Promise<DriverResult | null>;

/** Drives a run to its end, or to the point where this process leaves it to another one. Never rejects. */
export async function driveRun(run: Run, driver: Driver, services: Services): Promise<void> {
  let result: DriverResult;
  try {
    result = (await driver(run, services)) ?? { ending: stopToEnding(run.stopCause as StopCause) };
  } catch (error) {
    result = { ending: errorToEnding(error) };
  }
  if (run.stopCause?.code === 'paused') await suspendRun(run, run.stopCause.message, services);
  else await settleRun(run, result, services);
}

export function errorToEnding(error: unknown): Ending {
  if (error instanceof RetinueError) return createFailedEnding(error.code, error.message, error.retryable);
  return createFailedEnding('internal', `internal error: ${error instanceof Error ? error.message : String(error)}`);
}

/** Pauses a run so that another process can continue it. Nothing of it is active here afterwards. */
async function suspendRun(run: Run, reason: string, services: Services): Promise<void> {
  await closeRun(run);
  // A worker hands the tree back, and another machine may continue it.
  const saved = services.checkouts?.placesRoots && run.stopCause?.code === 'paused' ? await saveWorkspace(run, services) : null;
  let error: unknown = new RetinueError('paused', `run ${run.id} was paused: ${reason}`, { retryable: true });
  try {
    // A run that is already paused keeps its own reason and time.
    const paused: Draft[] = run.state.paused ? [] : [pausedFact(run, { reason, resumeAt: null })];
    const drafts = [...(saved?.drafts ?? []), ...paused];
    if (drafts.length > 0) await run.record(drafts, { blobs: saved?.blobs ?? [] });
    else await services.journal.flushed();
  } catch (lost) {
    error = lost;
  }
  if (run.sharesBudget) await run.budget.close();
  releaseRun(run, services);
  run.settle.reject(error);
}

/** Ends a run: first everything below it, then its own last fact. Afterwards it holds no slot, timer or listener (invariant 7). */
async function settleRun(run: Run, { ending, childCause }: DriverResult, services: Services): Promise<void> {
  const cause = run.stopCause ?? childCause ?? { code: 'cancelled', message: 'the run that delegated it has ended' };
  run.stop(cause);
  await closeRun(run);
  try {
    if (cause.code === 'lost') throw cause.error;
    const durationMs = run.measureDuration(services.clock);
    const outcome = await recordEnd(
      run,
      {
        ending: { ...checkModelFinished(run, ending), ...(durationMs !== null && { durationMs }) },
        files: await saveWorkspace(run, services),
      },
      services.journal,
    );
    if (run.state.created.data.external) await services.homes?.forget([run.id]);
    if (run.sharesBudget) await run.budget.close();
    releaseRun(run, services);
    run.settle.resolve(completeOutcome(outcome));
  } catch (error) {
    if (run.sharesBudget) await run.budget.close();
    releaseRun(run, services);
    run.settle.reject(error);
  }
}

/** Accepts nothing more and waits for the children. */
async function closeRun(run: Run): Promise<void> {
  run.isClosing = true;
  run.slot.release();
  await Promise.allSettled([...run.children].map((child) => child.ended));
  run.detachFromParent();
}

function releaseRun(run: Run, { journal, runs }: Services): void {
  const { parent } = run;
  if (parent) {
    parent.endedRows.set(run.id, stateToRow(run.state));
    if (parent.work === null) forgetOldChildren(parent);
    parent.children.delete(run);
    parent.notify();
  }
  journal.forget(run.id);
  runs.delete(run.id);
}

/** Ended children that a client keeps in memory. Older ones are read from the store (`viewEarlier` in delegation.ts). */
const maxKeptChildren = 256;

function forgetOldChildren({ state, endedRows }: Run): void {
  for (const id of endedRows.keys()) {
    if (endedRows.size <= maxKeptChildren) return;
    endedRows.delete(id);
    state.children.delete(id);
  }
}

/** A scripted model with steps left over fails the run. */
function checkModelFinished(run: Run, ending: Ending): Ending {
  try {
    const error = ending.code === null ? run.work?.model.finished?.(run.id) : null;
    return error ? createFailedEnding(error.code, error.message, error.retryable) : ending;
  } catch (error) {
    return errorToEnding(error);
  }
}

/** Files of the run's own are deleted when the facts are durable. */
async function recordEnd(run: Run, { ending, files }: { ending: Ending; files: WorkspaceEnd }, journal: Journal): Promise<RecordedOutcome> {
  const saved: RunDrafts[] = files.drafts.length === 0 ? [] : [{ runId: run.id, drafts: files.drafts }];
  const parts = [...saved, ...endingParts({ runId: run.id, parentId: run.parent?.id ?? null, ending }, journal)];
  const durable = journal.record(run.rootId, parts, { blobs: files.blobs });
  const outcome = endedFact(run.state)?.data.outcome as RecordedOutcome;
  await durable;
  await files.remove();
  return outcome;
}

/** {run.ended, the parent's child.ended}, to be recorded in one transaction. */
export function endingParts(
  { runId, parentId, ending }: { runId: string; parentId: string | null; ending: Ending },
  journal: Journal,
): RunDrafts[] {
  const own: RunDrafts = {
    runId,
    drafts: (at) => {
      const outcome = stateToOutcome(journal.state(runId), ending, { endedAt: at });
      keepCanonical(outcome);
      return [{ type: 'run.ended', data: { outcome } }];
    },
  };
  if (parentId === null) return [own];
  const parentPart: RunDrafts = {
    runId: parentId,
    drafts: () => {
      const state = journal.state(runId);
      const { hash, taint } = state;
      const ended = endedFact(state);
      if (!ended) throw new RetinueError('internal', `run ${runId} has not ended`);
      const data = { childId: runId, hash, outcome: ended.data.outcome, ...(taint.size > 0 && { taint: [...taint].sort() }) };
      return [{ type: 'child.ended', data }];
    },
  };
  return [own, parentPart];
}
