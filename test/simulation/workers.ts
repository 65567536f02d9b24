// The simulation of a cluster: trees are queued, and several simulated processes with the real worker take and drive them. They are killed, stopped and
// drained at any moment, also between taking a job and claiming its tree. Time is virtual. At the end the same invariants are checked.
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import { findTreePause } from '../../src/api/tree-pause.ts';
import { native } from '../../src/dialects/native.ts';
import { createRuntime } from '../../src/kernel/runtime.ts';
import type { Queue } from '../../src/ports/queue.ts';
import type { Owner, Store } from '../../src/ports/store.ts';
import { createMemoryData, type MemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { checkInvariants } from '../../src/testing/invariants.ts';
import { msToIso } from '../../src/text/instant.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { effectFaults } from './effect-faults.ts';
import { createPlan, type Plan } from './plan.ts';
import { createStore, type Outside } from './ports.ts';
import { calmRates, createSimulatedProcess, type Interruption, type SimulatedProcess } from './process.ts';
import { createRandom, type Random } from './random.ts';
import type { Simulated } from './simulate.ts';
import { anyAgent, createIds, createOptions, createRoughRates, steer, type World } from './world.ts';

/** The last of them is not interrupted. */
const maxLives = 4;
const maxVirtualMs = 12 * 3_600_000;

interface Cluster extends Pick<World, 'plan' | 'clock' | 'random' | 'outside' | 'ids' | 'store' | 'fault' | 'ordersGiven'> {
  memory: MemoryData;
  crashes: number;
  isDone: boolean;
  /** Ends of processes that wait for the end of everything. */
  stops: (() => Promise<void>)[];
  stopped: SimulatedProcess[];
}

export async function simulateWorkers(seed: number, print: (line: string) => void = () => {}): Promise<Simulated> {
  const random = createRandom(seed);
  const plan: Plan = { ...createPlan(random.fork()), client: null, flow: null };
  const clock = createHandClock();
  const memory = createMemoryData();
  const outside: Outside = { effects: new Map(), answers: new Map() };
  const faults: string[] = [];
  const cluster: Cluster = {
    ...{ plan, clock, random, outside, memory, crashes: 0, isDone: false, stops: [], stopped: [], ordersGiven: [] },
    ids: createIds(random.fork()),
    fault: (what) => void faults.push(what),
    store: createMemoryStore({ clock, memory }),
  };
  let done = false;
  void runCluster(cluster)
    .catch((error) => void faults.push(`the simulation broke: ${error instanceof Error ? error.stack : error}`))
    .finally(() => {
      done = true;
    });
  while (!done && clock.monotonic() < maxVirtualMs) await clock.advance(500);
  if (!done) faults.push(`not everything ended within ${maxVirtualMs / 3_600_000} hours: ${JSON.stringify([...memory.jobs.values()])}`);
  for (const proc of cluster.stopped) proc.wake();
  await clock.advance(120_000);
  const violations = await checkInvariants(cluster.store);
  faults.push(...violations.map(({ invariant, runId, what }) => `${invariant}: ${runId ?? ''} ${what}`));
  const facts = await cluster.store.facts({});
  faults.push(...effectFaults(facts, plan, outside));
  if (memory.jobs.size > 0) faults.push(`${memory.jobs.size} jobs are left`);
  if (memory.orders.size > 0) faults.push(`${memory.orders.size} orders are left`);
  for (const { runId, seq, at, type, data } of facts)
    print(`${at} ${runId.slice(-4)} ${seq} ${type} ${JSON.stringify(data).slice(0, 240)}`);
  const rows = await cluster.store.runs({});
  const statuses: Record<string, number> = {};
  for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1;
  const compactions = facts.filter(({ type }) => type === 'context.compacted').length;
  return {
    runs: rows.length,
    facts: facts.length,
    crashes: cluster.crashes,
    compactions,
    flows: 0,
    reviews: 0,
    answers: 0,
    statuses,
    faults,
  };
}

async function runCluster(cluster: Cluster): Promise<void> {
  const { random, store, clock } = cluster;
  const steering = steer(cluster, random.fork());
  const slots = Array.from({ length: random.int(2, 3) }, () => runSlot(cluster, random.fork()));
  const queued = await enqueueRoots(cluster, random.fork());
  while ((await store.runs({ live: true })).length > 0 || cluster.memory.jobs.size > 0) await sleep(cluster, 1_000);
  for (const runId of queued) if ((await store.run(runId)) === null) cluster.fault(`the queued tree ${runId} is lost`);
  steering.end();
  cluster.isDone = true;
  await Promise.all(cluster.stops.map((stop) => stop()));
  await Promise.all(slots);
  await clock.advance(0);
}

const sleep = ({ clock }: Pick<Cluster, 'clock'>, ms: number) =>
  new Promise<void>((resolve) => void clock.at(clock.monotonic() + ms, resolve));

/** Queues every root twice with the same key, some of them for later. */
async function enqueueRoots(cluster: Cluster, random: Random): Promise<string[]> {
  const { plan, clock } = cluster;
  const proc = createSimulatedProcess({ clock, random: random.fork(), rates: calmRates, interruption: null });
  const store = openStore(cluster, proc, []);
  const runtime = await createRuntime(createOptions({ ...cluster, open: () => store }, proc));
  const queued: string[] = [];
  for (const { task, limits } of plan.roots) {
    const delay = random.hit(0.3) ? { startAfter: msToIso(clock.now() + random.int(1, 30_000)) } : {};
    const brief = { task, agent: 'any', limits, idempotencyKey: task };
    const job = { queue: 'q', priority: random.int(-2, 2), ...delay };
    const [first, second] = [await runtime.enqueue(brief, { job }), await runtime.enqueue(brief, { job })];
    if (first.runId !== second.runId || second.isNew) cluster.fault(`${task} was queued twice with the same key`);
    queued.push(first.runId);
    await sleep(cluster, random.int(0, 2_000));
  }
  await runtime.close();
  return queued;
}

/** One worker after another, as a service manager starts them. */
async function runSlot(cluster: Cluster, random: Random): Promise<void> {
  const rough = createRoughRates(random);
  for (let life = 1; !cluster.isDone; life++) {
    const isLast = life >= maxLives;
    const kind = random.pick<Interruption>(['kill', 'kill', 'stop', 'drain']);
    const proc = createSimulatedProcess({
      ...{ clock: cluster.clock, random: random.fork(), rates: isLast || random.hit(0.3) ? calmRates : rough },
      interruption: isLast ? null : { kind, at: random.int(1, random.pick([12, 60, 250])) },
    });
    await runWorker(cluster, proc, random);
  }
}

/** From the start of a process until others may take its trees. */
async function runWorker(cluster: Cluster, proc: SimulatedProcess, random: Random): Promise<void> {
  const owners: Owner[] = [];
  const store = openStore(cluster, proc, owners);
  const { ids } = cluster;
  const runtime = () => createRuntime({ ...createOptions({ ...cluster, open: () => store }, proc), queues: ['q'] });
  const api = createApi({ store, clock: proc.clock, ids, catalog: createCatalog([anyAgent]), dialect: native, runtime });
  const worker = startWorker({
    ...{ queue: store.queue as Queue, clock: proc.clock, queues: ['q'], concurrency: random.int(1, 2), graceMs: random.pick([10, 2_000]) },
    log: () => {},
    openTree: async (rootId) => ({ api, findPause: () => findTreePause(rootId, store) }),
    enqueueDue: () => Promise.reject(new Error('there are no schedules')),
  });
  const over = Promise.withResolvers<'over'>();
  cluster.stops.push(async () => over.resolve('over'));
  const end = await Promise.race([proc.over, over.promise]);
  if (end !== 'over') cluster.crashes++;
  const leave = async () => {
    await worker.stop();
    await api.close();
    return 'left' as const;
  };
  // A process may also be interrupted while it ends.
  const leaving = end === 'drain' || end === 'over' ? leave() : null;
  const how = leaving === null ? end : await Promise.race([leaving, proc.over.then((kind) => (kind === 'drain' ? leaving : kind))]);
  if (how === 'left') return;
  if (how === 'stop') cluster.stopped.push(proc);
  // Its heartbeats are missing for a while before others may take its trees.
  await sleep(cluster, random.int(0, 15_000));
  for (const owner of owners) await cluster.store.release(owner);
  if (how === 'stop' && random.hit(0.5)) proc.wake();
}

/** The shared store as a process sees it. `owners`: gets those that the process registers. */
function openStore({ memory, fault }: Cluster, proc: SimulatedProcess, owners: Owner[]): Store {
  const store = createStore(memory, proc, { fault });
  return {
    ...store,
    async open(queues) {
      const owner = await store.open(queues);
      owners.push(owner);
      return owner;
    },
  };
}
