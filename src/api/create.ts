// Implements the API over a store and a runtime. The runtime is created when this process first drives a run; reading needs only the store.
import type { Agent } from '../contract/agent.ts';
import { BudgetDefinition } from '../contract/budget.ts';
import { completeOutcome } from '../contract/complete-outcome.ts';
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import { assertNames, parseBrief } from '../kernel/admission/parse-brief.ts';
import { settleAbandonedDraws } from '../kernel/admission/shared-budgets.ts';
import { assertNotErased } from '../kernel/recovery/history.ts';
import type { ResumeOptions } from '../kernel/recovery/resume.ts';
import type { RunHandle, Runtime, RuntimeOptions } from '../kernel/runtime.ts';
import { findFileProblem } from '../kernel/workspace.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Checkouts } from '../ports/checkouts.ts';
import type { Clock } from '../ports/clock.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Ids } from '../ports/ids.ts';
import type { Queue, QueueState } from '../ports/queue.ts';
import type { RunFolders } from '../ports/run-folders.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Store } from '../ports/store.ts';
import { createDescendantFilter } from '../records/descendants.ts';
import { eraseTrees, type Forget, findTreesEndedBefore, loadRemainingFacts, weighTrees } from '../records/erase.ts';
import { exportTree } from '../records/export-tree.ts';
import { findRun } from '../records/find-run.ts';
import { createForkBrief } from '../records/fork.ts';
import { importTree } from '../records/import-tree.ts';
import { withPlanTrees } from '../records/plan-trees.ts';
import { replayTree, verifyTrees } from '../records/verify.ts';
import { msToIso } from '../text/instant.ts';
import { isAfter } from '../text/position.ts';
import { clipName } from '../text/suggest.ts';
import type { Api, Interrupted } from './api.ts';
import { createApply } from './apply.ts';
import { loadChanges, loadPatch } from './changes.ts';
import { runEvents } from './events.ts';
import { followFacts, watchChanges } from './follow.ts';
import { listInterruptedPlans, repairInterruptedPlans } from './interrupted-plans.ts';
import { createKeyedRoots } from './keyed-roots.ts';
import { findLeftFolders, removeLeftFolders } from './leftovers.ts';
import { createListeners } from './listeners.ts';
import { createOverview } from './overview.ts';
import { openQueueDelegation } from './queue-delegation.ts';
import { createRunViews } from './run-views.ts';
import { createShow, loadCreated } from './show.ts';
import { createSteer, dialectOf } from './steer.ts';
import { createStreams } from './stream.ts';
import { findTreeDrivers } from './tree-drivers.ts';
import { listTrees } from './trees.ts';

/** A refused claim is retried, because a command that ends an interrupted run owns the tree for a moment. */
const resumeTries = 6;
const resumeRetryMs = 100;

export interface ApiOptions {
  store: Store;
  clock: Clock;
  ids: Ids;
  catalog: Catalog;
  dialect: Dialect;
  /** Called when this process first drives a run, and again if that runtime has to be replaced. */
  runtime(): Promise<Runtime>;
  advise?: Api['advise'];
  /** Throws `invalid_rule` for rules of messages that name no tool. Without it, only the process of the run checks them. */
  checkRules?: RuntimeOptions['settings']['checkRules'];
  /** Removes the data of an erased tree that is outside the store. */
  forget?: Forget;
  /** Files of runs' own, and the folder that their changes are applied to. */
  checkouts?: Checkouts;
  workspace?: string;
  /** The homes of external agents. */
  homes?: RunFolders;
  /** Removes secrets of this process from stored contents that are shown. */
  redact?: Redact;
}

export function createApi(options: ApiOptions): Api {
  const { store, clock, ids, catalog, dialect, runtime, advise, forget, redact = (text) => text } = options;
  const { checkouts, homes, workspace, checkRules } = options;
  let running: Promise<Runtime> | null = null;
  let replacing: Promise<Runtime> | null = null;
  let closing: Promise<void> | null = null;
  const listeners = createListeners();
  const openStream = createStreams({ store, listeners });
  const rowsToViews = createRunViews(store, clock);
  const show = createShow(store, rowsToViews);

  /** The runtime of this process. One that lost its lease or its trees is replaced, so that a full disk or a takeover is not the end of a process. */
  async function drive(): Promise<Runtime> {
    if (closing) throw new RetinueError('parent_ended', 'nothing more can be started: `close` was called');
    const current = await openRuntime();
    if (!current.isStale()) return current;
    replacing ??= replaceRuntime(current).finally(() => {
      replacing = null;
    });
    return replacing;
  }

  function openRuntime(): Promise<Runtime> {
    running ??= runtime().then(
      (created) => {
        const onEvent = (event: Fact | Delta) => {
          if (event.type === 'delta') store.publish(event);
          listeners.notify(event);
        };
        created.listen(onEvent, () => listeners.readsDeltas() || store.hasSubscribers());
        return created;
      },
      (error: unknown) => {
        running = null;
        throw error;
      },
    );
    return running;
  }

  /** Closing the old one gives up its lease, so that the trees it lost can be resumed. If that fails, the next use tries again. */
  async function replaceRuntime(old: Runtime): Promise<Runtime> {
    await old.close();
    running = null;
    return openRuntime();
  }

  /** Lets other work go first. */
  const pause = () => new Promise<void>((resolve) => clock.defer(resolve));

  /** Rejects with `erased`. */
  async function findReadable(id: string): Promise<RunRow> {
    const row = await findRun(id, store);
    assertNotErased(row);
    return row;
  }

  /** Null if the run has not ended. Rejects with `erased`. */
  async function loadOutcome(runId: string): Promise<Outcome | null> {
    const row = (await store.run(runId)) as RunRow;
    assertNotErased(row);
    if (row.endedAt === null) return null;
    const [fact] = await store.facts({ runId, types: ['run.ended'] });
    return fact?.type === 'run.ended' ? completeOutcome(fact.data.outcome) : null;
  }

  async function wait(ids: string[], { any, signal }: { any: boolean; signal: AbortSignal }): Promise<(Outcome | null)[]> {
    const runIds = await Promise.all(ids.map(async (id) => (await findRun(id, store)).runId));
    const outcomes: (Outcome | null)[] = runIds.map(() => null);
    const isRelevant = (fact: Fact) => fact.type === 'run.ended' && runIds.includes(fact.runId);
    for await (const _ of watchChanges({ store, listeners }, signal, isRelevant)) {
      for (const [i, runId] of runIds.entries()) outcomes[i] ??= await loadOutcome(runId);
      if (any ? outcomes.some((each) => each !== null) : outcomes.every((each) => each !== null)) break;
    }
    return outcomes;
  }

  async function interrupted(): Promise<Interrupted[]> {
    const rows = await store.runs({ live: true, order: 'oldest' });
    const rootIds = [...new Set(rows.map((row) => row.rootId))];
    const drivers = await findTreeDrivers(rootIds, store);
    const isInterrupted = (rootId: string) => drivers.get(rootId)?.pid === null && drivers.get(rootId)?.queue === null;
    return Promise.all(
      rootIds.filter(isInterrupted).map(async (rootId): Promise<Interrupted> => {
        const { brief, kind, agent, dialect: name } = (await loadCreated(rootId, store)).data;
        const open = rows.filter((row) => row.rootId === rootId).length;
        return { rootId, kind, label: brief.label ?? null, agent, dialect: name, open };
      }),
    );
  }

  async function resume(rootId: string, { by = 'retinue resume', ...options }: ResumeOptions & { by?: string } = {}): Promise<RunHandle[]> {
    const runtime = await drive();
    for (let tries = 1; ; tries++) {
      const resumed = await runtime.resume(rootId, by, options);
      if (resumed.ok) return resumed.handles;
      if (tries === resumeTries)
        throw new RetinueError('fenced', `run ${rootId} cannot be resumed: it is driven by process ${resumed.pid}`);
      await new Promise<void>((resolve) => clock.at(clock.monotonic() + resumeRetryMs, resolve));
    }
  }

  const api: Api = {
    start: async (brief, options) => (await drive()).start(brief, options),
    enqueue: async (brief, options) => (await drive()).enqueue(brief, options),
    async queues() {
      const queue = getQueue(store);
      const [queues, workers] = await Promise.all([queue.states(), queue.workers()]);
      const total = (count: (state: QueueState) => number) => queues.reduce((sum, state) => sum + count(state), 0);
      return { queued: total(({ waiting, delayed }) => waiting + delayed), running: total(({ running }) => running), queues, workers };
    },
    schedules: async () => getQueue(store).schedules(),
    async putSchedule({ name = ids.runId().slice(0, 8), ...schedule }) {
      assertNames(parseBrief(schedule.brief));
      const queue = getQueue(store);
      await queue.putSchedule({ name, ...schedule });
      const stored = (await queue.schedules()).find((each) => each.name === name);
      if (!stored) throw new RetinueError('usage', `the schedule ${name} was removed by another process`);
      return stored;
    },
    removeSchedule: async (name) => getQueue(store).removeSchedule(name),
    async budgets() {
      // A database that is only read keeps what it has.
      await settleAbandonedDraws(store).catch(() => {});
      return store.budgets.list();
    },
    setBudget: (definition) => store.budgets.set(BudgetDefinition.parse(definition)),
    removeBudget: (name) => store.budgets.remove(name),
    handBack: async (rootId, reason) => (await running)?.handBack(rootId, reason),
    findFileProblem: (rootId, signal) => findFileProblem(rootId, { store, checkouts }, signal),
    advise: advise ?? (async () => null),
    dialect,
    ...createSteer({ store, clock, ids, listeners, drive, running: () => running, checkouts, homes, redact, checkRules }),
    replay: (id, options) => replayTree(id, store, { ...options, pause }),
    verify: (id, options) => verifyTrees(id, store, { ...options, pause }),
    export: (id, options) => exportTree(id, options, store),
    import: (lines, options = { unfinished: false }) => importTree(lines, options, store),
    weigh: async (ids) => weighTrees(await withPlanTrees(ids, store), store),
    erase: async (ids) => eraseTrees(await withPlanTrees(ids, store), { store, forget, now: () => msToIso(clock.now()) }),
    endedBefore: (at) => findTreesEndedBefore(at, store),
    flow: async (program, input, options) => (await drive()).startFlow(program, input, options),
    namedFlow: () => Promise.reject(new RetinueError('usage', 'this program has no flows of a workspace; use `flow` with a definition')),
    async client({ queue, ...options } = {}) {
      if (queue !== undefined) getQueue(store);
      const client = await (await drive()).openClient(options);
      if (queue === undefined) return client;
      const { limits = {}, name = null, isProven = false, formerIds = [], seesAllClients = false } = options;
      const reach = { name, isProven, formerIds, seesAllClients };
      const deps = { api, store, clock, redact, queue, limits, clientId: client.id, reach };
      return { ...client, delegation: await openQueueDelegation(client.delegation, deps) };
    },
    async *events(id, options = {}) {
      yield* runEvents(await findRun(id, store), options, { store, openStream });
    },
    find: async (id) => (await findRun(id, store)).runId,
    ps: async ({ all, ...query }) => rowsToViews(await store.runs({ order: 'newest', ...(all ? {} : { live: true }), ...query })),
    trees: (query) => listTrees(query, { store, rowsToViews }),
    ...createKeyedRoots({ store, rowsToViews }),
    ...createOverview(store),
    stream: openStream,
    show,
    changes: async (id) => loadChanges(await findReadable(id), { store, redact }),
    ...createApply({ store, checkouts, workspace, drive }),
    leftFolders: ({ remove }) => (remove ? removeLeftFolders : findLeftFolders)(store, { checkouts, homes }),
    interruptedPlans: ({ repair }) => (repair ? repairInterruptedPlans : listInterruptedPlans)({ store, checkouts, drive }),
    patch: async (id) => loadPatch(await findReadable(id), store),
    async logs(id, options = {}) {
      const row = await findRun(id, store);
      const { tree = false, after, limit } = options;
      if (row.erasedAt !== undefined) return loadRemainingFacts(row, tree, store);
      const scope = tree ? { rootId: row.rootId } : { runId: row.runId };
      const isWhole = !tree || row.runId === row.rootId;
      if (after !== undefined) await assertPosition(after, row.runId, store);
      // Nothing has to be left out, so the store reads only the page.
      if (isWhole) return store.facts({ ...scope, ...(limit === undefined ? {} : { limit }), ...(after === undefined ? {} : { after }) });
      const facts = (await store.facts(scope)).filter(createDescendantFilter(row.runId));
      return facts.filter(({ position }) => after === undefined || isAfter(position, after)).slice(0, limit);
    },
    async *follow(id, options) {
      yield* followFacts(await findRun(id, store), options, { store, listeners });
    },
    wait,
    interrupted,
    resume,
    drain: async (reason) => (running ? (await running).drain(reason) : undefined),
    async fork(id, fork, options) {
      const { runId } = await findRun(id, store);
      return (await drive()).start(await createForkBrief(runId, fork, store), { ...options, dialect: await dialectOf(runId, store) });
    },
    agents: (): Agent[] => catalog.list(),
    watch: (listener, { deltas = true } = {}) => listeners.add(listener, { deltas }),
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
  return api;

  async function closeAll(): Promise<void> {
    try {
      if (running) await (await running).close();
    } finally {
      await store.close();
    }
  }
}

function getQueue({ queue }: Store): Queue {
  if (!queue) throw new RetinueError('usage', 'this database has no queue; use a PostgreSQL database');
  return queue;
}

/** Rejects with `usage` if the store cannot continue after it. */
async function assertPosition(after: string, runId: string, store: Store): Promise<void> {
  if ((await store.cursor(after)).behind !== null) return;
  throw new RetinueError(
    'usage',
    `after: the log of run ${runId} has no position \`${clipName(after)}\`; take the \`position\` of an event, or leave it out to read from the beginning`,
  );
}
