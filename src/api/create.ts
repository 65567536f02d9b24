import type { Agent } from '../contract/agent.ts';
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { Fact, FactOf } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import { isLive, type RunRow } from '../contract/run.ts';
import { assertNotErased } from '../kernel/history.ts';
import { pinnedServers } from '../kernel/pinned-agent.ts';
import type { RunHandle, Runtime } from '../kernel/runtime.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Clock } from '../ports/clock.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Ids } from '../ports/ids.ts';
import type { Store } from '../ports/store.ts';
import { createDescendantFilter } from '../records/descendants.ts';
import { createErasing, type Forget, remainingFacts } from '../records/erase.ts';
import { findRun } from '../records/find-run.ts';
import { forkBrief } from '../records/fork.ts';
import { createTransfer } from '../records/transfer.ts';
import { createProofs } from '../records/verify.ts';
import { msToIso } from '../text/instant.ts';
import type { Api, Interrupted, RunDetail, RunView } from './api.ts';
import { runEvents } from './events.ts';
import { changes, followFacts } from './follow.ts';
import { createSteer } from './steer.ts';

/** The taint of a run, from the few facts that carry it. */
function factsToTaint(facts: Fact[]): string[] {
  const all = facts.flatMap((fact) => {
    if (fact.type === 'tool.finished') return fact.data.taint;
    if (fact.type === 'run.started') return fact.data.taint ?? [];
    return fact.type === 'child.ended' ? ['child', ...(fact.data.taint ?? [])] : [];
  });
  return [...new Set(all)].sort();
}

/** A command that ends an interrupted run holds the tree for a moment, so a refused claim is retried. */
const resumeTries = 6;
const resumeRetryMs = 100;

export interface ApiOptions {
  store: Store;
  clock: Clock;
  ids: Ids;
  catalog: Catalog;
  dialect: Dialect;
  /** Called when this process first drives a run. */
  runtime(): Promise<Runtime>;
  advise?: Api['advise'];
  /** Removes what is kept of an erased tree outside the store. */
  forget?: Forget;
}

export function createApi({ store, clock, ids, catalog, dialect, runtime, advise, forget }: ApiOptions): Api {
  let running: Promise<Runtime> | null = null;
  const listeners = new Set<(event: Fact | Delta) => void>();

  function drive(): Promise<Runtime> {
    running ??= runtime().then((made) => {
      made.listen((event) => {
        for (const listener of listeners) notify(listener, event);
      });
      return made;
    });
    return running;
  }

  /** A listener that throws is removed; the others still get the event. */
  function notify(listener: (event: Fact | Delta) => void, event: Fact | Delta): void {
    try {
      listener(event);
    } catch {
      listeners.delete(listener);
    }
  }

  async function rowOf(id: string): Promise<RunRow> {
    return findRun(id, store);
  }

  async function views(rows: RunRow[]): Promise<RunView[]> {
    const live = new Set(rows.filter((row) => isLive(row.status)).map((row) => row.rootId));
    const holders = await store.holders([...live]);
    return rows.map((row) => viewOf(row, isLive(row.status) && !holders.get(row.rootId)?.alive));
  }

  async function show(id: string): Promise<RunDetail> {
    const row = await rowOf(id);
    const facts = await store.facts({ runId: row.runId, types: ['run.started', 'run.ended', 'tool.finished', 'child.ended'] });
    const fact = row.erasedAt === undefined ? await createdOf(row.runId) : null;
    const created = fact?.data ?? null;
    const servers = fact && row.endedAt === null ? await pinnedServers(fact, store) : {};
    const ended = facts.find((fact) => fact.type === 'run.ended') as FactOf<'run.ended'> | undefined;
    const [view] = await views([row]);
    const children = await views(await store.runs({ parentId: row.runId, order: 'oldest' }));
    const said = { brief: created?.brief ?? null, grant: created?.grant ?? null, outcome: ended?.data.outcome ?? null };
    return {
      ...(view as RunView),
      ...said,
      servers,
      taint: factsToTaint(facts),
      ...(row.erasedAt === undefined ? {} : { erasedAt: row.erasedAt }),
      children,
    };
  }

  async function outcomeOf(runId: string): Promise<Outcome | null> {
    const [fact] = await store.facts({ runId, types: ['run.ended'] });
    if (!fact) assertNotErased((await store.run(runId)) as RunRow);
    return fact?.type === 'run.ended' ? fact.data.outcome : null;
  }

  async function wait(given: string[], { any, signal }: { any: boolean; signal: AbortSignal }): Promise<(Outcome | null)[]> {
    const found = await Promise.all(given.map(async (id) => (await rowOf(id)).runId));
    const outcomes: (Outcome | null)[] = found.map(() => null);
    const look = async () => {
      for (const [i, id] of found.entries()) outcomes[i] ??= await outcomeOf(id);
      return any ? outcomes.some((each) => each !== null) : outcomes.every((each) => each !== null);
    };
    for await (const _ of changes({ store, listeners, signal })) if (await look()) break;
    return outcomes;
  }

  async function interrupted(): Promise<Interrupted[]> {
    const rows = await store.runs({ live: true, order: 'oldest' });
    const roots = [...new Set(rows.map((row) => row.rootId))];
    const holders = await store.holders(roots);
    const lost = roots.filter((rootId) => !holders.get(rootId)?.alive);
    return Promise.all(
      lost.map(async (rootId): Promise<Interrupted> => {
        const { brief, kind, agent, dialect: of } = (await createdOf(rootId)).data;
        return { rootId, kind, label: brief.label ?? null, agent, dialect: of, open: rows.filter((row) => row.rootId === rootId).length };
      }),
    );
  }

  async function resume(rootId: string, options?: { patient: boolean }): Promise<RunHandle[]> {
    const runtime = await drive();
    for (let tries = 1; ; tries++) {
      const resumed = await runtime.resume(rootId, 'retinue resume', options);
      if (resumed.ok) return resumed.handles;
      if (tries === resumeTries) throw new RetinueError('fenced', `run ${rootId} is driven by process ${resumed.pid}`);
      await new Promise<void>((resolve) => clock.at(clock.monotonic() + resumeRetryMs, resolve));
    }
  }

  async function createdOf(runId: string): Promise<FactOf<'run.created'>> {
    const [created] = await store.facts({ runId, types: ['run.created'] });
    if (created?.type !== 'run.created') throw new RetinueError('store_corrupt', `run ${runId} has no run.created`);
    return created;
  }

  return {
    start: async (brief, options) => (await drive()).start(brief, options),
    advise: advise ?? (async () => null),
    dialect,
    ...createSteer({ store, clock, ids, listeners, drive, running: () => running }),
    ...createProofs(store),
    ...createTransfer(store),
    ...createErasing(store, { now: () => msToIso(clock.now()), ...(forget ? { forget } : {}) }),
    client: async (options) => (await drive()).client(options),
    async *events(id, options = {}) {
      yield* runEvents(await rowOf(id), options, { store, listeners });
    },
    find: async (id) => (await rowOf(id)).runId,
    ps: async ({ all }) => views(await store.runs({ order: 'newest', ...(all ? {} : { live: true }) })),
    show,
    async logs(id, options = {}) {
      const row = await rowOf(id);
      if (row.erasedAt !== undefined) return remainingFacts(row, options.tree ?? false, store);
      const scope = options.tree ? { rootId: row.rootId } : { runId: row.runId };
      const facts = (await store.facts(scope)).filter(createDescendantFilter(row.runId));
      return facts.slice(facts.findIndex((fact) => fact.position === options.after) + 1);
    },
    async *follow(id, options) {
      const row = await rowOf(id);
      yield* followFacts(row, options, { store, listeners });
    },
    wait,
    interrupted,
    resume,
    drain: async (reason) => (running ? (await running).drain(reason) : undefined),
    fork: async (id, fork) => (await drive()).start(await forkBrief((await rowOf(id)).runId, fork, store)),
    agents: (): Agent[] => catalog.list(),
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      if (running) await (await running).close();
      await store.close();
    },
  };
}

function viewOf(row: RunRow, interrupted: boolean): RunView {
  const { runId, parentId, rootId, depth, kind, label, agent, turns, tokens, costUsd, startedAt, endedAt } = row;
  return {
    runId,
    parentId,
    rootId,
    depth,
    kind,
    label,
    agent,
    status: interrupted && row.status !== 'paused' ? 'interrupted' : row.status,
    driven: isLive(row.status) && !interrupted,
    turns,
    tokens,
    costUsd,
    startedAt,
    endedAt,
  };
}
