// Takes over and takes back what runs changed, for a person. Each use is a client run of its own, which has the plan in its facts.
import { RetinueError } from '../contract/error.ts';
import type { StoredFact } from '../contract/fact.ts';
import {
  type ApplyReport,
  findOwners,
  hasOwnFiles,
  type PlannedChanges,
  planApply,
  planToReport,
  readSteps,
} from '../kernel/delegation/apply.ts';
import { joinSteps, type RunPathChange, reverseSteps } from '../kernel/delegation/change-steps.ts';
import type { Runtime, RuntimeClient } from '../kernel/runtime.ts';
import type { Checkouts } from '../ports/checkouts.ts';
import type { Store } from '../ports/store.ts';
import { subtreeRows } from '../records/descendants.ts';
import { findRun } from '../records/find-run.ts';
import { completeInterruptedPlans } from './interrupted-plans.ts';

export interface ApplyDeps {
  store: Store;
  checkouts: Checkouts | undefined;
  /** The folder whose files are changed. */
  workspace: string | undefined;
  drive(): Promise<Runtime>;
}

export interface ApplyOptions {
  /** Only says what would happen. */
  check: boolean;
  signal?: AbortSignal;
}

export interface Apply {
  apply(ids: string[], options: ApplyOptions): Promise<ApplyReport>;
  /** `left`: paths that something else changed, or that `conflicts` has a reason for. One that is in `files` too was taken back only to the state that it left. */
  undo(ids: string[], options: ApplyOptions): Promise<Omit<ApplyReport, 'applied'>>;
  /** Returns the runs whose changes were discarded. */
  discard(ids: string[]): Promise<string[]>;
}

export function createApply({ store, checkouts, workspace, drive }: ApplyDeps): Apply {
  function needFiles(): { checkouts: Checkouts; workspace: string } {
    if (!checkouts || workspace === undefined) throw new RetinueError('usage', 'changes cannot be applied here');
    return { checkouts, workspace };
  }

  async function withClient<T>(label: string, work: (client: RuntimeClient) => Promise<T>): Promise<T> {
    const client = await (await drive()).openClient({ label });
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  }

  /** Completes what earlier commands recorded and could not finish. */
  async function completeEarlier(): Promise<Pick<ApplyReport, 'completed'>> {
    const completed = await completeInterruptedPlans({ store, checkouts, drive });
    return completed.length === 0 ? {} : { completed };
  }

  return {
    async apply(ids, { check, signal }) {
      const files = needFiles();
      const runIds = await expandIds(ids, store);
      const earlier = check ? {} : await completeEarlier();
      const deps = { store, changes: files.checkouts.changes, workspace: files.workspace, refuse: () => null, signal };
      const plan = await planApply(runIds, deps);
      if (check || plan.set.changes.length === 0) return { ...planToReport(plan), ...earlier };
      const planned: PlannedChanges = { id: '1', kind: 'apply', runs: plan.merged, steps: plan.steps, blobs: plan.blobs };
      const label = `apply ${plan.merged.join(' ')}`;
      return withClient(label, async (client) => ({ ...planToReport(plan, await client.carryOut(planned)), ...earlier }));
    },

    async undo(ids, { check, signal }) {
      const files = needFiles();
      const earlier = check ? {} : await completeEarlier();
      const rows = await Promise.all(ids.map((id) => findRun(id, store)));
      const trees = await Promise.all(
        rows.map(async ({ rootId, runId }) => subtreeRows(await store.runs({ rootId, order: 'oldest' }), runId)),
      );
      const subtree = new Set(trees.flat().map(({ runId }) => runId));
      const { steps, interrupted } = reverseSteps(await collectSteps(subtree, files.workspace, store));
      const request = { workspace: files.workspace, refuse: () => null, read: (hash: string) => store.blob(hash), isExact: true, signal };
      const plan = await files.checkouts.changes.plan({ ...request, changes: [{ runId: '', set: joinSteps(steps) }] });
      const changed = [...new Set([...plan.conflicts.flatMap(({ paths }) => paths.map(({ path }) => path)), ...interrupted])];
      if (check || plan.set.changes.length === 0) return { ...planToReport(plan), left: changed, ...earlier };
      const paths = new Set(plan.set.changes.map(({ path }) => path));
      const possible = steps.map(({ runId, changes }) => ({ runId, changes: changes.filter(({ path }) => paths.has(path)) }));
      const planned: PlannedChanges = { id: '1', kind: 'undo', runs: [...subtree].sort(), steps: possible, blobs: plan.blobs };
      return withClient(`undo ${rows.map(({ runId }) => runId).join(' ')}`, async (client) => {
        const left = await client.carryOut(planned);
        return { ...planToReport(plan, left), left: [...changed, ...left], ...earlier };
      });
    },

    async discard(ids) {
      const runIds = await expandIds(ids, store);
      for (const runId of runIds) {
        if (!(await hasOwnFiles(runId, store)))
          throw new RetinueError('workspace', `there is nothing to discard: run ${runId} and its children had no files of their own`);
        const row = await store.run(runId);
        if (row?.endedAt === null) throw new RetinueError('usage', `run ${runId} has not ended yet; cancel it first`);
      }
      await withClient(`discard ${runIds.join(' ')}`, (client) => client.discard(runIds));
      for (const runId of runIds) {
        const prepared = (await store.facts({ runId, types: ['workspace.prepared'] })).at(-1);
        const left = prepared?.type === 'workspace.prepared' ? await checkouts?.find(runId, prepared.data) : null;
        if (left) await checkouts?.remove(runId, left);
      }
      return runIds;
    },
  };
}

/** The runs with files of their own that the ids stand for. */
async function expandIds(ids: string[], store: Store): Promise<string[]> {
  const found: string[] = [];
  for (const id of ids) {
    const row = await findRun(id, store);
    const own = await findOwners(row, store);
    // Without any, the message is about the run that was named.
    found.push(...(own.length === 0 ? [row.runId] : own));
  }
  return [...new Set(found)];
}

/** What these runs, and plans with their changes, did to the files of the workspace, in order. */
async function collectSteps(runIds: ReadonlySet<string>, workspace: string, store: Store): Promise<RunPathChange[]> {
  const facts = await store.facts({ types: ['changes.planned', 'changes.made', 'artifact.recorded'] });
  const made = new Map(
    facts.flatMap((fact) => (fact.type === 'changes.made' ? [[`${fact.runId} ${fact.data.id}`, fact.data.left] as const] : [])),
  );
  const steps: RunPathChange[] = [];
  for (const fact of facts) steps.push(...(await factToSteps(fact, { runIds, workspace, made, store })));
  return steps;
}

interface StepDeps {
  runIds: ReadonlySet<string>;
  workspace: string;
  /** The paths that were left alone, by run and plan. */
  made: ReadonlyMap<string, readonly string[]>;
  store: Store;
}

async function factToSteps(fact: StoredFact, { runIds, workspace, made, store }: StepDeps): Promise<RunPathChange[]> {
  const { runId } = fact;
  if (fact.type === 'artifact.recorded') return runIds.has(runId) && fact.data.change ? [{ runId, change: fact.data.change }] : [];
  if (fact.type !== 'changes.planned' || fact.data.workspace !== workspace) return [];
  if (!fact.data.runs.some((each) => runIds.has(each))) return [];
  // A run that was ended in the middle of a plan may have made any part of it. What it did not make is as it would be taken back.
  const left = made.get(`${runId} ${fact.data.id}`) ?? ((await store.run(runId))?.endedAt == null ? null : []);
  if (left === null) return [];
  const own = (await readSteps(fact.data.changes, store)).filter((step) => runIds.has(step.runId));
  return own.flatMap((step) => step.changes.flatMap((change) => (left.includes(change.path) ? [] : [{ runId: step.runId, change }])));
}
