// Implements the API over a store and a runtime. The runtime is created when this process first drives a run; reading needs only the store.
import type { Agent } from '../contract/agent.ts';
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { Fact, FactOf } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import { assertNotErased } from '../kernel/history.ts';
import { pinnedServers } from '../kernel/pinned-agent.ts';
import type { ResumeOptions, RunHandle, Runtime } from '../kernel/runtime.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Clock } from '../ports/clock.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Ids } from '../ports/ids.ts';
import type { Store } from '../ports/store.ts';
import { createDescendantFilter } from '../records/descendants.ts';
import { eraseTrees, type Forget, findTreesEndedBefore, remainingFacts, weighTrees } from '../records/erase.ts';
import { exportTree } from '../records/export-tree.ts';
import { findRun } from '../records/find-run.ts';
import { forkBrief } from '../records/fork.ts';
import { importTree } from '../records/import-tree.ts';
import { replayTree, verifyTrees } from '../records/verify.ts';
import { msToIso } from '../text/instant.ts';
import type { Api, Interrupted, RunDetail, RunView } from './api.ts';
import { runEvents } from './events.ts';
import { changes, followFacts } from './follow.ts';
import { createOverview } from './overview.ts';
import { createRunViews } from './run-views.ts';
import { createSteer, dialectOf } from './steer.ts';
import { createStreams } from './stream.ts';
import { findTreeDrivers } from './tree-drivers.ts';
import { listTrees } from './trees.ts';

/** The taint of a run, from the facts that carry it. */
function factsToTaint(facts: Fact[]): string[] {
  const all = facts.flatMap((fact) => {
    if (fact.type === 'tool.finished') return fact.data.taint;
    if (fact.type === 'run.started') return fact.data.taint ?? [];
    return fact.type === 'child.ended' ? ['child', ...(fact.data.taint ?? [])] : [];
  });
  return [...new Set(all)].sort();
}

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
  /** Removes what is kept of an erased tree outside the store. */
  forget?: Forget;
}

export function createApi({ store, clock, ids, catalog, dialect, runtime, advise, forget }: ApiOptions): Api {
  let running: Promise<Runtime> | null = null;
  let replacing: Promise<Runtime> | null = null;
  const listeners = new Set<(event: Fact | Delta) => void>();
  const openStream = createStreams({ store, listeners });
  const rowsToViews = createRunViews(store);

  /** The runtime of this process. One that lost its lease or its trees is replaced, so that a full disk or a takeover is not the end of a process. */
  async function drive(): Promise<Runtime> {
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
        created.listen((event) => {
          if (event.type === 'delta') store.publish(event);
          for (const listener of listeners) notify(listener, event);
        });
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

  /** A listener that throws is removed; the others still get the event. */
  function notify(listener: (event: Fact | Delta) => void, event: Fact | Delta): void {
    try {
      listener(event);
    } catch {
      listeners.delete(listener);
    }
  }

  async function show(id: string): Promise<RunDetail> {
    const row = await findRun(id, store);
    const facts = await store.facts({
      runId: row.runId,
      types: ['run.started', 'run.ended', 'tool.finished', 'child.ended', 'message.received'],
    });
    const started = facts.find((fact) => fact.type === 'run.started') as FactOf<'run.started'> | undefined;
    const created = row.erasedAt === undefined ? await loadCreated(row.runId) : null;
    const ended = facts.find((fact) => fact.type === 'run.ended') as FactOf<'run.ended'> | undefined;
    const children = await store.runs({ parentId: row.runId, order: 'oldest' });
    const [view, ...childViews] = await rowsToViews([row, ...children]);
    const driver = (await findTreeDrivers([row.rootId], store)).get(row.rootId);
    return {
      ...(view as RunView),
      brief: created?.data.brief ?? null,
      grant: created?.data.grant ?? null,
      outcome: ended?.data.outcome ?? null,
      pid: row.endedAt === null ? (driver?.pid ?? null) : null,
      host: created?.data.host ?? null,
      servers: created && row.endedAt === null ? await pinnedServers(created, store) : {},
      model: row.model ?? started?.data.model ?? null,
      deadline: started?.data.deadline ?? null,
      addedRules: facts.flatMap((fact) => (fact.type === 'message.received' ? (fact.data.rules ?? []) : [])),
      notices: created ? [...created.data.notices, ...(created.data.missingTools === undefined ? [] : [created.data.missingTools])] : [],
      taint: factsToTaint(facts),
      ...(row.erasedAt === undefined ? {} : { erasedAt: row.erasedAt }),
      children: childViews,
    };
  }

  /** Null if the run has not ended. Rejects with `erased`. */
  async function loadOutcome(runId: string): Promise<Outcome | null> {
    const row = (await store.run(runId)) as RunRow;
    assertNotErased(row);
    if (row.endedAt === null) return null;
    const [fact] = await store.facts({ runId, types: ['run.ended'] });
    return fact?.type === 'run.ended' ? fact.data.outcome : null;
  }

  async function wait(ids: string[], { any, signal }: { any: boolean; signal: AbortSignal }): Promise<(Outcome | null)[]> {
    const runIds = await Promise.all(ids.map(async (id) => (await findRun(id, store)).runId));
    const outcomes: (Outcome | null)[] = runIds.map(() => null);
    const isRelevant = (fact: Fact) => fact.type === 'run.ended' && runIds.includes(fact.runId);
    for await (const _ of changes({ store, listeners }, signal, isRelevant)) {
      for (const [i, runId] of runIds.entries()) outcomes[i] ??= await loadOutcome(runId);
      if (any ? outcomes.some((each) => each !== null) : outcomes.every((each) => each !== null)) break;
    }
    return outcomes;
  }

  async function interrupted(): Promise<Interrupted[]> {
    const rows = await store.runs({ live: true, order: 'oldest' });
    const rootIds = [...new Set(rows.map((row) => row.rootId))];
    const drivers = await findTreeDrivers(rootIds, store);
    const isInterrupted = (rootId: string) => drivers.get(rootId)?.pid === null && !drivers.get(rootId)?.isQueued;
    return Promise.all(
      rootIds.filter(isInterrupted).map(async (rootId): Promise<Interrupted> => {
        const { brief, kind, agent, dialect: name } = (await loadCreated(rootId)).data;
        const open = rows.filter((row) => row.rootId === rootId).length;
        return { rootId, kind, label: brief.label ?? null, agent, dialect: name, open };
      }),
    );
  }

  async function resume(rootId: string, options?: ResumeOptions): Promise<RunHandle[]> {
    const runtime = await drive();
    for (let tries = 1; ; tries++) {
      const resumed = await runtime.resume(rootId, 'retinue resume', options);
      if (resumed.ok) return resumed.handles;
      if (tries === resumeTries)
        throw new RetinueError('fenced', `run ${rootId} cannot be resumed: it is driven by process ${resumed.pid}`);
      await new Promise<void>((resolve) => clock.at(clock.monotonic() + resumeRetryMs, resolve));
    }
  }

  async function loadCreated(runId: string): Promise<FactOf<'run.created'>> {
    const [created] = await store.facts({ runId, types: ['run.created'] });
    if (created?.type !== 'run.created')
      throw new RetinueError('store_corrupt', `the database has no beginning (run.created) of run ${runId}`);
    return created;
  }

  return {
    start: async (brief, options) => (await drive()).start(brief, options),
    enqueue: async (brief, options) => (await drive()).enqueue(brief, options),
    async queues() {
      if (!store.queue) throw new RetinueError('usage', 'this database has no queue');
      const [queues, workers] = await Promise.all([store.queue.states(), store.queue.workers()]);
      return { queues, workers };
    },
    handBack: async (rootId, reason) => (await running)?.handBack(rootId, reason),
    advise: advise ?? (async () => null),
    dialect,
    ...createSteer({ store, clock, ids, listeners, drive, running: () => running }),
    replay: (id, options) => replayTree(id, store, { ...options, pause }),
    verify: (id, options) => verifyTrees(id, store, { ...options, pause }),
    export: (id, options) => exportTree(id, options, store),
    import: (lines, options = { unfinished: false }) => importTree(lines, options, store),
    weigh: (ids) => weighTrees(ids, store),
    erase: (ids) => eraseTrees(ids, { store, forget, now: () => msToIso(clock.now()) }),
    endedBefore: (at) => findTreesEndedBefore(at, store),
    client: async (options) => (await drive()).client(options),
    async *events(id, options = {}) {
      yield* runEvents(await findRun(id, store), options, { store, openStream });
    },
    find: async (id) => (await findRun(id, store)).runId,
    ps: async ({ all, ...query }) => rowsToViews(await store.runs({ order: 'newest', ...(all ? {} : { live: true }), ...query })),
    trees: (query) => listTrees(query, { store, rowsToViews }),
    ...createOverview(store),
    stream: openStream,
    show,
    async logs(id, options = {}) {
      const row = await findRun(id, store);
      const { tree = false, after, limit } = options;
      if (row.erasedAt !== undefined) return remainingFacts(row, tree, store);
      const scope = tree ? { rootId: row.rootId } : { runId: row.runId };
      const isWhole = !tree || row.runId === row.rootId;
      // Nothing has to be left out, so the store reads only the page.
      if (isWhole && limit !== undefined && (await isPosition(after, store)))
        return store.facts({ ...scope, limit, ...(after === undefined ? {} : { after }) });
      const facts = (await store.facts(scope)).filter(createDescendantFilter(row.runId));
      const start = facts.findIndex((fact) => fact.position === after) + 1;
      return facts.slice(start, limit === undefined ? undefined : start + limit);
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
      return (await drive()).start(await forkBrief(runId, fork, store), { ...options, dialect: await dialectOf(runId, store) });
    },
    agents: (): Agent[] => catalog.list(),
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      try {
        if (running) await (await running).close();
      } finally {
        await store.close();
      }
    },
  };
}

/** Whether the store can continue after it. Without one, it begins with the first fact. */
async function isPosition(after: string | undefined, store: Store): Promise<boolean> {
  return after === undefined || (await store.cursor(after)).behind !== null;
}
