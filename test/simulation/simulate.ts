// One simulation: a seed decides the trees, the failure rates, when processes are killed, and the orders from outside. Time is virtual; the kernel is
// the real one. At the end the invariants are checked, and what happened outside is compared with the facts.
import { completeOutcome } from '../../src/contract/complete-outcome.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { createRuntime, type Runtime } from '../../src/kernel/runtime.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { checkInvariants } from '../../src/testing/invariants.ts';
import { canonical } from '../../src/text/canonical.ts';
import { effectFaults } from './effect-faults.ts';
import { createSimulatedFlow, stepFaults } from './flow.ts';
import { createPlan } from './plan.ts';
import { createStore, type Outside } from './ports.ts';
import { calmRates, createSimulatedProcess, type Interruption, type SimulatedProcess } from './process.ts';
import { createRandom } from './random.ts';
import { createIds, createOptions, createRoughRates, steer, type World } from './world.ts';

export interface Simulated {
  runs: number;
  facts: number;
  /** Processes that ended before their runs. */
  crashes: number;
  /** Conversations that were replaced by a summary. */
  compactions: number;
  /** Flows that ran, and reviews that were made. */
  flows: number;
  reviews: number;
  /** Questions that were answered in time. */
  answers: number;
  statuses: Record<string, number>;
  faults: string[];
}

/** The last two of these processes are not interrupted, so no more are needed. */
const maxProcesses = 5;
const maxVirtualMs = 12 * 3_600_000;
/** A process has looked for waiting orders by then. */
const orderCheckMs = 5_000;

export async function simulate(seed: number, print: (line: string) => void = () => {}): Promise<Simulated> {
  const random = createRandom(seed);
  const plan = createPlan(random.fork());
  const clock = createHandClock();
  const memory = createMemoryData();
  const outside: Outside = { effects: new Map(), answers: new Map() };
  const faults: string[] = [];
  const world: World = {
    ...{ plan, clock, random, outside, acknowledged: [], processes: [], crashes: 0, stats: null, ordersGiven: [], resumedAt: 0 },
    treeEnds: new Map(),
    ids: createIds(random.fork()),
    fault: (what) => void faults.push(what),
    store: createMemoryStore({ clock, memory }),
    open: (proc) =>
      createStore(memory, proc, { fault: world.fault, onTreeEnd: (rootId) => void world.treeEnds.set(rootId, clock.monotonic()) }),
  };
  let done = false;
  const running = runProcesses(world)
    .catch((error) => void faults.push(`the simulation broke: ${error instanceof Error ? error.stack : error}`))
    .finally(() => {
      done = true;
    });
  while (!done && clock.monotonic() < maxVirtualMs) await clock.advance(200);
  if (!done) faults.push(`not everything ended within ${maxVirtualMs / 3_600_000} hours`);
  else await running;
  for (const proc of world.processes) proc.wake();
  await clock.advance(60_000);
  const stats = world.stats?.();
  const violations = await checkInvariants(world.store, stats ? { stats } : {});
  faults.push(...violations.map(({ invariant, runId, what }) => `${invariant}: ${runId ?? ''} ${what}`));
  const facts = await world.store.facts({});
  faults.push(...effectFaults(facts, plan, outside), ...stepFaults(facts, outside));
  for (const outcome of world.acknowledged) {
    const stored = facts.find((fact) => fact.type === 'run.ended' && fact.runId === outcome.runId);
    if (stored?.type !== 'run.ended' || canonical(completeOutcome(stored.data.outcome)) !== canonical(outcome))
      faults.push(`an acknowledged outcome is lost: ${outcome.runId} ${outcome.status}`);
  }
  for (const { runId, seq, at, type, data } of facts)
    print(`${at} ${runId.slice(-4)} ${seq} ${type} ${JSON.stringify(data).slice(0, 240)}`);
  if (memory.orders.size > 0) faults.push(`${memory.orders.size} orders are left`);
  for (const { id, kind, rootId, givenAt } of world.ordersGiven) {
    const isApplied = memory.trees.get(rootId)?.consumed.has(id) ?? false;
    // A tree that ends at once takes its orders with it.
    const hadTime = givenAt < world.resumedAt && (world.treeEnds.get(rootId) ?? 0) > world.resumedAt + orderCheckMs;
    if (hadTime && !isApplied && (kind === 'cancel' || kind === 'message')) faults.push(`the waiting ${kind} was never applied`);
  }
  const rows = await world.store.runs({});
  const statuses: Record<string, number> = {};
  for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1;
  const compactions = facts.filter(({ type }) => type === 'context.compacted').length;
  const flows = rows.filter(({ kind }) => kind === 'flow').length;
  const reviews = facts.filter((fact) => fact.type === 'child.created' && fact.data.check).length;
  const answers = facts.filter((fact) => fact.type === 'approval.answered' && fact.data.by === 'the user').length;
  return { runs: rows.length, facts: facts.length, crashes: world.crashes, compactions, flows, reviews, answers, statuses, faults };
}

/** Runs one process after another until everything has ended. */
async function runProcesses(world: World): Promise<void> {
  const { random, clock, store } = world;
  const roughRates = createRoughRates(random);
  const isRough = random.hit(0.7);
  const steering = steer(world, random.fork());
  for (let n = 1; n <= maxProcesses + 1; n++) {
    const last = n > maxProcesses - 1;
    const kind = random.pick<Interruption>(['kill', 'kill', 'stop', 'drain']);
    const interruption = last || (n > 1 && random.hit(0.3)) ? null : { kind, at: random.int(1, random.pick([12, 60, 250])) };
    const proc = createSimulatedProcess({ clock, random: random.fork(), rates: isRough && !last ? roughRates : calmRates, interruption });
    world.processes.push(proc);
    if (n > 1 && proc.rates === calmRates) world.resumedAt = clock.monotonic();
    const ended = await runProcess(world, proc, n === 1);
    if (random.hit(0.15)) clock.jump(random.int(-3_600_000, 3_600_000));
    if (!(await store.runs({ live: true })).length && ended) break;
    world.crashes++;
    if (last) world.fault('a process that was not interrupted left unfinished runs');
  }
  steering.end();
}

/** One process from start to end. False if it ended before its runs. */
async function runProcess(world: World, proc: SimulatedProcess, first: boolean): Promise<boolean> {
  const { store } = world;
  const made = createRuntime(createOptions(world, proc));
  const runtime = await Promise.race([made, proc.over.then(() => null)]);
  if (runtime === null) return false;
  world.stats = runtime.stats;
  const work = (async () => {
    const outcomes = first ? await startRoots(runtime, world, proc) : await resumeAll(runtime, store);
    const ends = await Promise.allSettled(outcomes);
    for (const end of ends) if (end.status === 'fulfilled') world.acknowledged.push(end.value);
    return ends.every((end) => end.status === 'fulfilled');
  })();
  const end = await Promise.race([work, proc.over]);
  const leave = async () => {
    if (end !== true) await runtime.drain('the process ends');
    await work.catch(() => {});
    await runtime.close();
    return end === true;
  };
  // A process may also be interrupted while it ends.
  const left = end === 'kill' || end === 'stop' ? false : leave();
  const ended = await Promise.race([left, proc.over.then((kind) => (kind === 'drain' ? left : false))]);
  if (!ended) await store.release(runtime.owner);
  return ended;
}

/** Starts the roots of the plan and returns their outcomes. */
async function startRoots(runtime: Runtime, world: World, proc: SimulatedProcess): Promise<Promise<Outcome>[]> {
  const { roots, client: given, flow } = world.plan;
  if (flow) {
    const started = await runtime.startFlow(createSimulatedFlow(world.plan, proc, world.outside), null).catch(() => null);
    return started ? [started.outcome] : [];
  }
  const client = given && (await runtime.openClient({ limits: given.limits }).catch(() => null));
  const start: Runtime['start'] = client ? client.delegate : runtime.start;
  const started = await Promise.allSettled(
    roots.map(({ task, limits, isReviewed }) =>
      start({ task, agent: 'any', limits, ...(isReviewed && { checks: [{ agent: 'any', task: 'it is good' }] }) }),
    ),
  );
  const outcomes = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value.outcome] : []));
  if (!client) return outcomes;
  const { leavesAfterMs } = given;
  const gone = leavesAfterMs === null ? null : proc.sleep(leavesAfterMs).then(() => true);
  const left = Promise.race([Promise.allSettled(outcomes).then(() => false), gone ?? new Promise<never>(() => {})]);
  return [...outcomes, left.then((isGone) => client.close({ gone: isGone }))];
}

/** Resumes all trees. A busy store is retried. */
async function resumeAll(runtime: Runtime, store: Store): Promise<Promise<Outcome>[]> {
  const rows = await store.runs({ live: true, order: 'oldest' });
  const outcomes: Promise<Outcome>[] = [];
  for (const rootId of new Set(rows.map((row) => row.rootId))) {
    for (let tries = 0; tries < 3; tries++) {
      const resumed = await runtime.resume(rootId, 'the simulation').catch(() => null);
      if (resumed?.ok) outcomes.push(...resumed.handles.map((handle) => handle.outcome));
      if (resumed) break;
    }
  }
  return outcomes;
}
