// Plans that a killed process did not complete, and the temporary files that it left.
import type { ChangeSet } from '../contract/change-set.ts';
import type { FactOf } from '../contract/fact.ts';
import { type CompletedPlan, createPlanKey, readSteps } from '../kernel/delegation/apply.ts';
import { joinSteps } from '../kernel/delegation/change-steps.ts';
import type { Runtime } from '../kernel/runtime.ts';
import type { Checkouts } from '../ports/checkouts.ts';
import type { Store } from '../ports/store.ts';

/**
 * `open`: it will be completed by the next `apply` or `undo`. `resumable`: by `retinue resume`, because it belongs to a parent. `ended`: its run was ended
 * without it; `undo` takes back what was written.
 */
export interface InterruptedPlan extends Omit<CompletedPlan, 'left'> {
  runId: string;
  state: 'open' | 'resumable' | 'ended';
  /** Temporary files, as paths in the workspace. */
  temporary: string[];
}

export interface InterruptedPlanDeps {
  store: Store;
  checkouts: Checkouts | undefined;
  drive(): Promise<Runtime>;
}

interface Found extends InterruptedPlan {
  planned: FactOf<'changes.planned'>['data'];
  rootId: string;
  set: ChangeSet;
}

/** Those of processes that do not run any more. */
async function findInterruptedPlans({ store, checkouts }: Omit<InterruptedPlanDeps, 'drive'>): Promise<Found[]> {
  const facts = await store.facts({ types: ['changes.planned', 'changes.made'] });
  const open = new Map<string, FactOf<'changes.planned'>>();
  for (const fact of facts) {
    if (fact.type === 'changes.planned') open.set(createPlanKey(fact.runId, fact.data.id), fact as FactOf<'changes.planned'>);
    else if (fact.type === 'changes.made') open.delete(createPlanKey(fact.runId, fact.data.id));
  }
  const found: Found[] = [];
  for (const [key, { runId, data }] of open) {
    const row = await store.run(runId);
    if (!row || row.erasedAt !== undefined || (await store.holders([row.rootId])).get(row.rootId)?.alive) continue;
    const steps = await readSteps(data.changes, store).catch(() => null);
    // Imported, without contents.
    if (steps === null) continue;
    const set = joinSteps(steps);
    const state = row.endedAt !== null ? 'ended' : row.kind === 'client' && row.parentId === null ? 'open' : 'resumable';
    const temporary = (await checkouts?.changes.findTemporary(data.workspace, set, { key, remove: false })) ?? [];
    const files = set.changes.map(({ path }) => path);
    found.push({ runId, rootId: row.rootId, state, kind: data.kind, runs: data.runs, files, temporary, planned: data, set });
  }
  return found;
}

/** Completes plans that belong to no live tree. Returns those that were completed. */
export async function completeInterruptedPlans({ store, checkouts, drive }: InterruptedPlanDeps): Promise<CompletedPlan[]> {
  const completed: CompletedPlan[] = [];
  for (const { state, runId, rootId, kind, runs, files, planned } of await findInterruptedPlans({ store, checkouts })) {
    if (state !== 'open') continue;
    const resumed = await (await drive()).resume(rootId, 'retinue apply');
    if (resumed.ok) await resumed.handles[0]?.outcome;
    const made = (await store.facts({ runId, types: ['changes.made'] })).find(
      (fact) => fact.type === 'changes.made' && fact.data.id === planned.id,
    );
    if (made?.type !== 'changes.made') continue;
    const { left } = made.data;
    completed.push({ kind, runs, files: files.filter((path) => !left.includes(path)), left });
  }
  return completed;
}

export async function listInterruptedPlans(deps: Omit<InterruptedPlanDeps, 'drive'>): Promise<InterruptedPlan[]> {
  return (await findInterruptedPlans(deps)).map(toPublic);
}

function toPublic({ runId, state, kind, runs, files, temporary }: Found): InterruptedPlan {
  return { runId, state, kind, runs, files, temporary };
}

/** Completes what can be completed, and deletes temporary files of the others. Returns what was found. */
export async function repairInterruptedPlans(deps: InterruptedPlanDeps): Promise<InterruptedPlan[]> {
  const found = await findInterruptedPlans(deps);
  await completeInterruptedPlans(deps);
  for (const { runId, planned, set } of found)
    await deps.checkouts?.changes.findTemporary(planned.workspace, set, { key: createPlanKey(runId, planned.id), remove: true });
  return found.map(toPublic);
}
