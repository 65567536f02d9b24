// Merges the changes that runs made in their own files into the workspace, and undoes them.
//
// A1. Nothing is written before the plan is durable (`changes.planned`). A plan without `changes.made` is carried out again, which is harmless.
// A2. A plan that fails is taken back before that is recorded, so nothing is half applied.
// A3. A plan belongs to a live run: the parent that applies, the flow, or a client that exists only for it.
import { ChangeSet, type ChangeStep, ChangeSteps } from '../../contract/change-set.ts';
import { isRetinueError, RetinueError } from '../../contract/error.ts';
import type { FactData } from '../../contract/fact.ts';
import type { RunRow } from '../../contract/run.ts';
import type { CallRef } from '../../conversation/tool-calls.ts';
import type { ChangeFiles, ChangePlan, ChangesOfRun, PathConflict } from '../../ports/checkouts.ts';
import type { Store, StoredBlob } from '../../ports/store.ts';
import { decideCall } from '../../rules/policy.ts';
import { sha256 } from '../../text/canonical.ts';
import type { Run } from '../run.ts';
import { collectChildRulesets } from '../run-rights.ts';
import type { Services } from '../services.ts';
import { invertChanges, joinSteps } from './change-steps.ts';

/** `applied`: runs whose changes are in the files now, or would be. `left`: paths that changed while they were written, and were left alone. */
export interface ApplyReport {
  applied: string[];
  conflicts: { runId: string; paths: PathConflict[] }[];
  /** Paths that were changed, or would be. */
  files: string[];
  left: string[];
  /** Plans of earlier commands that were interrupted, and were completed first. Absent if there were none. */
  completed?: CompletedPlan[];
}

/** `runs`: whose changes they are. `files`: paths that have the changes now. */
export interface CompletedPlan extends Pick<ApplyReport, 'files' | 'left'> {
  kind: FactData['changes.planned']['kind'];
  runs: string[];
}

/** The changes of an ended run with files of its own. Rejects with `usage` or `erased` if there are none to take over, with the reason. */
async function loadChangesOf(runId: string, store: Store): Promise<ChangesOfRun> {
  const row = await store.run(runId);
  const id = runId;
  if (!row) throw new RetinueError('unknown_run', `no run has the id ${runId}`);
  if (row.erasedAt !== undefined) throw new RetinueError('erased', `run ${id} was erased`);
  const facts = await store.facts({ runId, types: ['workspace.prepared', 'workspace.saved'] });
  const prepared = facts.find((fact) => fact.type === 'workspace.prepared');
  if (prepared?.type !== 'workspace.prepared' || prepared.data.base === null)
    throw new RetinueError('usage', `run ${id} had no files of its own: what it changed is in the workspace already`);
  if (row.endedAt === null) throw new RetinueError('usage', `run ${id} has not ended yet; wait for it, or cancel it`);
  const saved = facts.at(-1);
  if (saved?.type !== 'workspace.saved')
    throw new RetinueError('usage', `the changes of run ${id} were not stored; \`retinue doctor\` finds its files`);
  if (saved.data.left !== undefined && saved.data.changes === null)
    throw new RetinueError('usage', `the changes of run ${id} could not be stored; its files are in ${saved.data.left}`);
  if (await isDiscarded(runId, store)) throw new RetinueError('usage', `the changes of run ${id} were discarded`);
  return { runId, set: saved.data.changes === null ? { v: 1, changes: [] } : await readSet(saved.data.changes, store) };
}

async function isDiscarded(runId: string, store: Store): Promise<boolean> {
  const facts = await store.facts({ types: ['changes.discarded'] });
  return facts.some((fact) => fact.type === 'changes.discarded' && fact.data.runs.includes(runId));
}

async function readSet(hash: string, store: Store): Promise<ChangeSet> {
  return ChangeSet.parse(await readBlob(hash, store));
}

/** The steps of a plan. Rejects with `usage` if they are not stored here. */
export async function readSteps(hash: string, store: Store): Promise<ChangeStep[]> {
  return ChangeSteps.parse(await readBlob(hash, store)).steps;
}

async function readBlob(hash: string, store: Store): Promise<unknown> {
  const content = await store.blob(hash);
  if (content === null) throw new RetinueError('usage', 'the changes are not in this database: an export does not contain them');
  return JSON.parse(typeof content === 'string' ? content : Buffer.from(content).toString('utf8'));
}

export interface ApplyPlanDeps {
  store: Store;
  changes: ChangeFiles;
  workspace: string;
  /** Why a path may not be changed; null if it may. */
  refuse(path: string): string | null;
  signal?: AbortSignal | undefined;
}

/** How the changes of these runs would be made, in this order. Changes nothing. */
export async function planApply(runIds: string[], { store, changes, ...rest }: ApplyPlanDeps): Promise<ChangePlan> {
  const sets: ChangesOfRun[] = [];
  for (const runId of [...new Set(runIds)]) sets.push(await loadChangesOf(runId, store));
  return changes.plan({ ...rest, changes: sets, read: (hash) => store.blob(hash) });
}

export function planToReport({ merged, conflicts, set }: ChangePlan, left: string[] = []): ApplyReport {
  const files = set.changes.map(({ path }) => path).filter((path) => !left.includes(path));
  return { applied: merged, conflicts, files, left };
}

/** A plan to carry out. */
export interface PlannedChanges {
  id: string;
  kind: FactData['changes.planned']['kind'];
  runs: string[];
  steps: ChangeStep[];
  blobs: StoredBlob[];
}

/** Records the plan, makes the changes and records that. Returns the paths that were left alone. */
export async function carryOutPlan(run: Run, { id, kind, runs, steps, blobs }: PlannedChanges, services: Services): Promise<string[]> {
  const text = JSON.stringify({ v: 1, steps } satisfies ChangeSteps);
  const hash = sha256(text);
  const planned: FactData['changes.planned'] = {
    changes: hash,
    files: joinSteps(steps).changes.length,
    id,
    kind,
    runs,
    workspace: run.workspace,
  };
  await run.record([{ type: 'changes.planned', data: planned }], { blobs: [...blobs, { hash, content: text }] });
  return finishPlan(run, planned, services);
}

export interface ApplyChildren {
  ids: string[];
  check: boolean;
  /** The tool call; null for a client. */
  call: CallRef | null;
}

/** For a parent: its rules about writing, as it passes them on, decide on every path. */
export async function applyChildren(run: Run, { ids, check, call }: ApplyChildren, services: Services): Promise<ApplyReport> {
  const rulesets = collectChildRulesets(run);
  const refuse = (path: string) => {
    const { action, rule, owner } = decideCall(rulesets, { tool: 'write', subjects: [path] });
    return action === 'allow' ? null : `may not be written (${rule === null ? 'no rule allows it' : `rule \`${rule}\` of ${owner}`})`;
  };
  const id = call ? `${call.turn}.${call.index}` : services.ids.orderId();
  return applyRuns(run, { id, ids, check, refuse }, services);
}

/** For a flow: its program has the rights of the user, so it may apply whatever `retinue apply` may. */
export async function applyForFlow(run: Run, runIds: string[], services: Services): Promise<ApplyReport> {
  await services.journal.flushed();
  const rows = await Promise.all(runIds.map((runId) => services.store.run(runId)));
  const owners = await Promise.all(rows.map((row) => (row ? findOwners(row, services.store) : [])));
  // Without any, the message is about the run that was named.
  const ids = runIds.flatMap((runId, index) => (owners[index]?.length ? owners[index] : [runId]));
  return applyRuns(run, { id: services.ids.orderId(), ids, check: false, refuse: () => null }, services);
}

/** The runs with files of their own that a run stands for: itself, or else the nearest ones below it, in the order of their creation. */
export async function findOwners({ runId }: Pick<RunRow, 'runId'>, store: Store): Promise<string[]> {
  if (await hasOwnFiles(runId, store)) return [runId];
  const children = await store.runs({ parentId: runId, order: 'oldest' });
  return (await Promise.all(children.map((child) => findOwners(child, store)))).flat();
}

export async function hasOwnFiles(runId: string, store: Store): Promise<boolean> {
  const facts = await store.facts({ runId, types: ['workspace.prepared'] });
  return facts.some((fact) => fact.type === 'workspace.prepared' && fact.data.base !== null);
}

interface ApplyRuns extends Pick<ApplyChildren, 'ids' | 'check'>, Pick<ApplyPlanDeps, 'refuse'> {
  /** Of the plan. */
  id: string;
}

async function applyRuns(run: Run, { id, ids, check, refuse }: ApplyRuns, services: Services): Promise<ApplyReport> {
  const { store, checkouts } = services;
  if (!checkouts) throw new RetinueError('workspace', 'changes cannot be made in this process');
  // A call that was cut off is made again: what it had planned is carried out first.
  await finishPlans(run, services);
  const plan = await planApply(ids, {
    store,
    changes: checkouts.changes,
    workspace: run.workspace,
    refuse,
    signal: run.signal.toAbortSignal(),
  });
  if (check || plan.set.changes.length === 0) return planToReport(plan);
  return planToReport(
    plan,
    await carryOutPlan(run, { id, kind: 'apply', runs: plan.merged, steps: plan.steps, blobs: plan.blobs }, services),
  );
}

/** Carries out the plans that an earlier process of the run recorded. */
export async function finishPlans(run: Run, services: Services): Promise<void> {
  for (const plan of [...run.state.plans.values()]) await finishPlan(run, plan, services);
}

async function finishPlan(
  run: Run,
  { id, changes, workspace }: FactData['changes.planned'],
  { checkouts, store }: Services,
): Promise<string[]> {
  if (!checkouts) throw new RetinueError('workspace', 'changes cannot be made in this process');
  if (workspace !== run.workspace) throw new RetinueError('workspace', `the changes are for the files in ${workspace}`);
  const set = joinSteps(await readSteps(changes, store));
  const options = { read: (hash: string) => store.blob(hash), key: createPlanKey(run.id, id) };
  try {
    const left = await checkouts.changes.carryOut(workspace, set, options);
    await run.record([{ type: 'changes.made', data: { id, left } }]);
    return left;
  } catch (error) {
    if (isRetinueError(error) && error.code !== 'workspace') throw error;
    // Such as a full disk. What was written is taken back; what cannot be is recorded, so that `undo` finds it.
    await checkouts.changes.carryOut(workspace, invertChanges(set), options).catch(() => {});
    const left = await checkouts.changes.findUnmade(workspace, set);
    await run.record([{ type: 'changes.made', data: { id, left } }]);
    const written = set.changes.length - left.length;
    const rest =
      written === 0 ? 'nothing was changed' : `${written} of ${set.changes.length} files were changed, and could not be taken back`;
    const message = `the changes could not be written: ${(error as Error).message}; ${rest}; remove the cause and try again`;
    throw new RetinueError('workspace', message, { cause: error });
  }
}

/** Names a plan among those of all runs. */
export function createPlanKey(runId: string, id: string): string {
  return `${runId} ${id}`;
}
