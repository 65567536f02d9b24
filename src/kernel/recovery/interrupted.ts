// Runs that no process drives any more: ends them, and reads those that an earlier client of the same store delegated. The process that ends such a run
// claims its tree and writes the last facts.
import { completeOutcome } from '../../contract/complete-outcome.ts';
import type { Draft } from '../../contract/fact.ts';
import type { RunRow } from '../../contract/run.ts';
import { isLive } from '../../contract/run-status.ts';
import type { CallState } from '../../conversation/request.ts';
import { isAwaitingApproval } from '../../conversation/tool-calls.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { Owner, Store } from '../../ports/store.ts';
import { type ClientReach, canSeeClient } from '../delegation/client-reach.ts';
import { createJournal } from '../journal.ts';
import { endingParts } from '../lifecycle.ts';
import type { Services } from '../services.ts';
import { createFailedEnding, stateToRow } from '../state/outcome.ts';
import { currentCalls, endedFact, type RunState } from '../state/state.ts';
import { toolFinishedFact, unknownEffectText } from '../tool-calls/judge.ts';
import { saveWorkspace } from '../workspace.ts';
import { assertAuthentic, loadState } from './history.ts';

/** Why a run is ended: it was cancelled, or its processes crashed again and again. */
export type InterruptedEnd =
  | { reason: string; by: string; code: 'cancelled' | 'client_gone' }
  | { reason: string; by: null; code: 'crashed' };

export interface InterruptedRunDeps {
  store: Store;
  owner: Owner;
  clock: Clock;
  /** For files that the runs left on this machine. */
  checkouts?: Services['checkouts'];
  homes?: Services['homes'];
  redact?: Services['redact'];
}

/** Ends a run and everything below it. False if a living process holds the tree: it has to be ordered to cancel it. */
export async function endInterruptedRun(row: RunRow, end: InterruptedEnd, deps: InterruptedRunDeps): Promise<boolean> {
  const { store, owner, clock, checkouts, homes, redact = (text) => text } = deps;
  // Before the claim: a tree that this program cannot read is refused and left alone.
  for (const { runId } of await store.runs({ rootId: row.rootId, live: true })) await loadState(runId, store);
  if (!(await store.claim(owner, row.rootId)).ok) return false;
  const subtree = findSubtree(await store.runs({ rootId: row.rootId, live: true }), row.runId);
  const involved = new Set([...subtree.map((each) => each.runId), ...subtree.flatMap((each) => each.parentId ?? [])]);
  const journal = createJournal({ store, owner, clock, onLost: () => {} });
  for (const runId of involved) {
    const state = await loadState(runId, store);
    await assertAuthentic(state, store);
    journal.adopt(state);
  }
  const ending =
    end.by === null ? createFailedEnding(end.code, end.reason) : { status: 'cancelled' as const, code: end.code, message: end.reason };
  if (end.by !== null)
    await journal.record(row.rootId, [
      { runId: row.runId, drafts: [{ type: 'cancel.asked', data: { by: end.by, code: end.code, reason: end.reason } }] },
    ]);
  for (const { runId, parentId } of subtree) {
    const cut = { runId, drafts: interruptedCallFacts(journal.state(runId)) };
    const files = await saveWorkspace({ id: runId, state: journal.state(runId), ownFiles: null }, { checkouts, redact });
    const saved = { runId, drafts: files.drafts };
    await journal.record(row.rootId, [cut, saved, ...endingParts({ runId, parentId, ending }, journal)], { blobs: files.blobs });
    await files.remove();
    if (journal.state(runId).created.data.external) await homes?.forget([runId]);
  }
  return true;
}

/** Ends a tree that this process has claimed and that ended every process before. */
export async function endCrashedTree(root: RunRow, takeovers: number, deps: InterruptedRunDeps): Promise<void> {
  const reason = `the process that drove this tree died ${takeovers + 1} times in a row without any progress`;
  await endInterruptedRun(root, { reason, by: null, code: 'crashed' }, deps);
}

/** The run and its live descendants, deepest first. */
function findSubtree(rows: RunRow[], runId: string): RunRow[] {
  const own = rows.filter((each) => each.runId === runId);
  const children = rows.filter((each) => each.parentId === runId);
  return [...children.flatMap((child) => findSubtree(rows, child.runId)), ...own];
}

/** Calls that were under way when the process died have an unknown effect. Idempotent ones are repeated, and those that had not begun are made. */
export function interruptedCallFacts(state: RunState): Draft[] {
  const cut = currentCalls(state).filter((call) => !call.finished && !call.idempotent && canHaveBegun(call, state));
  return cut.map((call) => toolFinishedFact(call, { status: 'unknown', output: unknownEffectText }));
}

/** No call begins while it awaits approval or its run is paused. Pauses of older programs do not say what had begun before. */
function canHaveBegun(call: CallState, { paused }: RunState): boolean {
  if (isAwaitingApproval(call)) return false;
  return paused?.begun === undefined || paused.begun.some(({ turn, index }) => turn === call.turn && index === call.index);
}

/**
 * A run of another client that the caller may see; null for any other run, and for an erased one. If its dialect ends children with their client, a run
 * that lost its process is ended first, so that no caller waits for it.
 */
export async function findEarlierRun(runId: string, reach: ClientReach, services: Services): Promise<ChildView | null> {
  const { store } = services;
  const row = await store.run(runId);
  const client = row && row.erasedAt === undefined && row.parentId !== null ? await store.run(row.parentId) : null;
  if (!row || client?.kind !== 'client' || !(await canSeeClient(client, reach, store))) return null;
  if (isLive(row.status) && !(await isDriven(row, store)) && (await endsWithClient(client, services)))
    await endRun(client, { reason: 'the client that delegated it went away', by: 'the runtime', code: 'client_gone' }, services);
  const state = await loadState(runId, store);
  const ended = endedFact(state);
  return { row: stateToRow(state), outcome: ended && completeOutcome(ended.data.outcome), taint: [...state.taint] };
}

/** Cancels a run of another client that the caller may see, if no living process drives it. */
export async function cancelEarlierRun(
  runId: string,
  { reason, reach }: { reason: string; reach: ClientReach },
  services: Services,
): Promise<void> {
  const known = await findEarlierRun(runId, reach, services);
  if (known && !known.outcome) await endRun(known.row, { reason, by: 'a client', code: 'cancelled' }, services);
}

export async function isDriven({ rootId }: Pick<RunRow, 'rootId'>, store: Store): Promise<boolean> {
  return (await store.holders([rootId])).get(rootId)?.alive === true;
}

/** As the dialect of the client run says, which may be another one than the caller's. A dialect that is not available here ends nothing. */
async function endsWithClient({ runId }: RunRow, { store, dialect }: Services): Promise<boolean> {
  const { created } = await loadState(runId, store);
  return dialect(created.data.dialect).then(
    ({ setup }) => setup.endsWithClient === true,
    () => false,
  );
}

/** Uses a separate lease, so that another process can still resume the rest of the tree. */
async function endRun(row: RunRow, end: InterruptedEnd, { store, clock, checkouts, homes, redact }: Services): Promise<void> {
  const owner = await store.open();
  try {
    await endInterruptedRun(row, end, { store, owner, clock, checkouts, homes, redact });
  } finally {
    await store.release(owner);
  }
}
