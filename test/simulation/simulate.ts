// One simulation: a seed decides the trees, the failure rates, when processes are killed, and the orders from outside. Time is virtual; the kernel is
// the real one. At the end the invariants are checked, and what happened outside is compared with the facts.
import { createCatalog } from '../../src/agents/catalog.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { isLive } from '../../src/contract/run-status.ts';
import { native } from '../../src/dialects/native.ts';
import { createRuntime, type Runtime } from '../../src/kernel/runtime.ts';
import type { Ids } from '../../src/ports/ids.ts';
import type { Store } from '../../src/ports/store.ts';
import { builtInRuleset } from '../../src/rules/policy.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createMemoryNotes } from '../../src/stores/notes-memory.ts';
import { createHandClock, type HandClock } from '../../src/testing/hand-clock.ts';
import { checkInvariants } from '../../src/testing/invariants.ts';
import { canonical } from '../../src/text/canonical.ts';
import { msToIso } from '../../src/text/instant.ts';
import { compileSchema } from '../../src/tools/json-schema.ts';
import { effectFaults } from './effect-faults.ts';
import { createInlineExecutor, createProcessExecutor } from './executors.ts';
import { createPlan, type HostName, type Plan } from './plan.ts';
import { createCaller, createModels, createStore, createTools, type Outside } from './ports.ts';
import { calmRates, createSimulatedProcess, type FailureRates, type Interruption, type SimulatedProcess } from './process.ts';
import { createRandom, type Random } from './random.ts';

export interface Simulated {
  runs: number;
  facts: number;
  /** Processes that ended before their runs. */
  crashes: number;
  statuses: Record<string, number>;
  faults: string[];
}

/** The last two of these processes are not interrupted, so no more are needed. */
const maxProcesses = 5;
const maxVirtualMs = 12 * 3_600_000;

const anyAgent = { name: 'any', description: '', prompt: 'You work.', source: 'simulation' };

export async function simulate(seed: number, print: (line: string) => void = () => {}): Promise<Simulated> {
  const random = createRandom(seed);
  const plan = createPlan(random.fork());
  const clock = createHandClock();
  const memory = createMemoryData();
  const outside: Outside = { effects: new Map(), answers: new Map() };
  const faults: string[] = [];
  const world: World = {
    ...{ plan, clock, random, outside, acknowledged: [], processes: [], crashes: 0, stats: null, ordersGiven: new Map(), resumedAt: 0 },
    ids: createIds(random.fork()),
    fault: (what) => void faults.push(what),
    store: createMemoryStore({ clock, memory }),
    open: (proc) => createStore(memory, proc, (what) => void faults.push(what)),
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
  faults.push(...effectFaults(facts, plan, outside));
  for (const outcome of world.acknowledged) {
    const stored = facts.find((fact) => fact.type === 'run.ended' && fact.runId === outcome.runId);
    if (stored?.type !== 'run.ended' || canonical(stored.data.outcome) !== canonical(outcome))
      faults.push(`an acknowledged outcome is lost: ${outcome.runId} ${outcome.status}`);
  }
  for (const { runId, seq, at, type, data } of facts)
    print(`${at} ${runId.slice(-4)} ${seq} ${type} ${JSON.stringify(data).slice(0, 240)}`);
  for (const [id, at] of world.ordersGiven) {
    const kind = memory.orders.get(id)?.kind;
    // A pause that came too late for its run stays until the next check.
    if (at < world.resumedAt && (kind === 'cancel' || kind === 'message')) faults.push(`the waiting ${kind} was never applied`);
  }
  const rows = await world.store.runs({});
  const statuses: Record<string, number> = {};
  for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1;
  return { runs: rows.length, facts: facts.length, crashes: world.crashes, statuses, faults };
}

interface World {
  plan: Plan;
  clock: HandClock;
  random: Random;
  outside: Outside;
  ids: Ids;
  /** For the observer: it never fails. */
  store: Store;
  open(proc: SimulatedProcess): Store;
  fault(what: string): void;
  acknowledged: Outcome[];
  processes: SimulatedProcess[];
  crashes: number;
  stats: Runtime['stats'] | null;
  /** When each order was given, and when the last process resumed everything. */
  ordersGiven: Map<string, number>;
  resumedAt: number;
}

/** Runs one process after another until everything has ended. */
async function runProcesses(world: World): Promise<void> {
  const { random, clock, store } = world;
  const roughRates: FailureRates = { store: 0.004, model: 0.05, tool: 0.05, host: 0.01, slow: 0.5, slowMs: random.pick([5, 50, 400]) };
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
  const { plan, store } = world;
  const made = createRuntime(createOptions(world, proc));
  const runtime = await Promise.race([made, proc.over.then(() => null)]);
  if (runtime === null) return false;
  world.stats = runtime.stats;
  const work = (async () => {
    const outcomes = first ? await startRoots(runtime, plan, proc) : await resumeAll(runtime, store);
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
async function startRoots(runtime: Runtime, { roots, client: given }: Plan, proc: SimulatedProcess): Promise<Promise<Outcome>[]> {
  const client = given && (await runtime.client({ limits: given.limits }).catch(() => null));
  const start: Runtime['start'] = client ? client.delegate : runtime.start;
  const started = await Promise.allSettled(roots.map(({ task, limits }) => start({ task, agent: 'any', limits })));
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

/** Orders from outside at random moments: messages, cancels, pauses and their ends. */
function steer({ store, clock, ids, ordersGiven }: World, random: Random): { end(): void } {
  let isOver = false;
  const give = async (kind: 'message' | 'cancel' | 'pause' | 'resume', runId: string, rootId: string) => {
    const id = ids.orderId();
    ordersGiven.set(id, clock.monotonic());
    await store.order({ id, runId, rootId, kind, by: 'the user', text: `order ${id}`, at: msToIso(clock.now()) });
  };
  const act = async () => {
    const rows = (await store.runs({ order: 'oldest' })).filter((row) => isLive(row.status));
    if (isOver) return;
    clock.at(clock.monotonic() + random.int(5, 3000), () => void act());
    if (rows.length === 0) return;
    const { runId, rootId } = random.pick(rows);
    const kind = random.pick(['message', 'message', 'pause', 'cancel'] as const);
    if (kind === 'cancel' && random.hit(0.6)) return;
    await give(kind, runId, rootId);
    if (kind === 'pause') clock.at(clock.monotonic() + random.int(1, 2000), () => void give('resume', runId, rootId));
  };
  if (random.hit(0.5)) clock.at(random.int(5, 2000), () => void act());
  return {
    end() {
      isOver = true;
    },
  };
}

function createIds(random: Random): Ids {
  let n = 0;
  const next = () => (++n).toString(16).padStart(16, '0');
  return { runId: next, orderId: () => `order-${next()}`, key: () => 'a fixed key', random: () => random.next() };
}

function createOptions(world: World, proc: SimulatedProcess): Parameters<typeof createRuntime>[0] {
  const { plan, outside, ids } = world;
  const tools = createTools(proc, outside);
  const executors = { inline: createInlineExecutor(proc), process: createProcessExecutor(proc, outside) };
  const { endsWithClient = false } = plan.client ?? {};
  const ruleset = builtInRuleset(
    native.tools.map((tool) => tool.name),
    tools.map((tool) => tool.name),
  );
  return {
    store: world.open(proc),
    clock: proc.clock,
    ids,
    catalog: createCatalog([anyAgent]),
    tools,
    dialect: { ...native, setup: { ...native.setup, endsWithClient, host: plan.hosts.delegated } },
    // A root in a process has all its descendants in processes; otherwise the dialect decides for them.
    host: plan.hosts.top === 'process' ? 'process' : undefined,
    executorNamed: (name) => executors[name as HostName] ?? null,
    workspaces: {
      read: async () => ({ ok: false, reason: 'does not exist' }),
      describe: async () => ({ platform: 'linux', git: null }),
    },
    memories: createMemoryNotes().memories,
    callModel: createCaller(plan, proc, outside),
    compileSchema,
    redact: (text) => text,
    redactStream: () => (piece) => piece,
    models: createModels(plan),
    settings: { workspace: '/simulated', model: 'simulated/one', limits: {}, rulesets: () => [ruleset] },
  };
}
