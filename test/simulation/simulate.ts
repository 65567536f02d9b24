// One simulated world: a seed decides on the trees, the weather, who is killed when and what is ordered from outside. Everything happens in
// virtual time; the kernel is the real one. When all has ended, the invariants are checked, and what happened outside is held against the facts.
import { createCatalog } from '../../src/agents/catalog.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { isLive } from '../../src/contract/run.ts';
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
import { type Chance, createChance } from './chance.ts';
import { inlineExecutorOf, processExecutorOf } from './executors.ts';
import { calm, createLife, type Life, type Trouble, type Weather } from './life.ts';
import { effectFaults } from './outside.ts';
import { createPlan, type HostName, type Plan } from './plan.ts';
import { callerOf, modelsOf, type Outside, storeOf, toolsOf } from './ports.ts';

export interface Simulated {
  runs: number;
  facts: number;
  /** Processes that came to their end with runs unfinished. */
  crashes: number;
  statuses: Record<string, number>;
  faults: string[];
}

/** More processes than this are never needed: the last ones are left in peace. */
const maxLives = 5;
const maxVirtualMs = 12 * 3_600_000;

const anyAgent = { name: 'any', description: '', prompt: 'You work.', source: 'simulation' };

export async function simulate(seed: number, tell: (line: string) => void = () => {}): Promise<Simulated> {
  const chance = createChance(seed);
  const plan = createPlan(chance.fork());
  const clock = createHandClock();
  const memory = createMemoryData();
  const outside: Outside = { effects: new Map(), answers: new Map() };
  const faults: string[] = [];
  const world: World = {
    ...{ plan, clock, chance, outside, acknowledged: [], lives: [], crashes: 0, stats: null, given: new Map(), takenUpAt: 0 },
    ids: idsOf(chance.fork()),
    fault: (what) => void faults.push(what),
    store: createMemoryStore({ clock, memory }),
    open: (life) => storeOf(memory, life, (what) => void faults.push(what)),
  };
  let done = false;
  const telling = story(world)
    .catch((error) => void faults.push(`the simulation broke: ${error instanceof Error ? error.stack : error}`))
    .finally(() => {
      done = true;
    });
  while (!done && clock.monotonic() < maxVirtualMs) await clock.advance(200);
  if (!done) faults.push(`not everything came to its end within ${maxVirtualMs / 3_600_000} hours`);
  else await telling;
  for (const life of world.lives) life.wake();
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
  for (const { runId, seq, at, type, data } of facts) tell(`${at} ${runId.slice(-4)} ${seq} ${type} ${JSON.stringify(data).slice(0, 240)}`);
  for (const [id, at] of world.given) {
    const kind = memory.orders.get(id)?.kind;
    // A pause that came too late for its run stays until somebody looks again.
    if (at < world.takenUpAt && (kind === 'cancel' || kind === 'message')) faults.push(`nobody looked at the ${kind} that waited`);
  }
  const rows = await world.store.runs({});
  const statuses: Record<string, number> = {};
  for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1;
  return { runs: rows.length, facts: facts.length, crashes: world.crashes, statuses, faults };
}

interface World {
  plan: Plan;
  clock: HandClock;
  chance: Chance;
  outside: Outside;
  ids: Ids;
  /** As an observer sees it: nothing of it fails. */
  store: Store;
  open(life: Life): Store;
  fault(what: string): void;
  acknowledged: Outcome[];
  lives: Life[];
  crashes: number;
  stats: Runtime['stats'] | null;
  /** When each order was given, and when the last process took everything up. */
  given: Map<string, number>;
  takenUpAt: number;
}

/** Process after process until everything has ended. */
async function story(world: World): Promise<void> {
  const { chance, clock, store } = world;
  const rough: Weather = { store: 0.004, model: 0.05, tool: 0.05, host: 0.01, slow: 0.5, slowMs: chance.pick([5, 50, 400]) };
  const stormy = chance.hit(0.7);
  const steering = steer(world, chance.fork());
  for (let n = 1; n <= maxLives + 1; n++) {
    const last = n > maxLives - 1;
    const kind = chance.pick<Trouble>(['kill', 'kill', 'stop', 'drain']);
    const fate = last || (n > 1 && chance.hit(0.3)) ? null : { kind, at: chance.int(1, chance.pick([12, 60, 250])) };
    const life = createLife({ clock, chance: chance.fork(), weather: stormy && !last ? rough : calm, fate });
    world.lives.push(life);
    if (n > 1 && life.weather === calm) world.takenUpAt = clock.monotonic();
    const ended = await live(world, life, n === 1);
    if (chance.hit(0.15)) clock.jump(chance.int(-3_600_000, 3_600_000));
    if (!(await store.runs({ live: true })).length && ended) break;
    world.crashes++;
    if (last) world.fault('a process that nothing befell left runs unfinished');
  }
  steering.end();
}

/** One process from its start to its end. False when it came to that before its runs did. */
async function live(world: World, life: Life, first: boolean): Promise<boolean> {
  const { plan, store } = world;
  const made = createRuntime(optionsOf(world, life));
  const runtime = await Promise.race([made, life.over.then(() => null)]);
  if (runtime === null) return false;
  world.stats = runtime.stats;
  const work = (async () => {
    const outcomes = first ? await begin(runtime, plan, life) : await goOn(runtime, store);
    const ends = await Promise.allSettled(outcomes);
    for (const end of ends) if (end.status === 'fulfilled') world.acknowledged.push(end.value);
    return ends.every((end) => end.status === 'fulfilled');
  })();
  const end = await Promise.race([work, life.over]);
  const leave = async () => {
    if (end !== true) await runtime.drain('the process ends');
    await work.catch(() => {});
    await runtime.close();
    return end === true;
  };
  // What befalls a process may do so at its very end as well.
  const left = end === 'kill' || end === 'stop' ? false : leave();
  const ended = await Promise.race([left, life.over.then((kind) => (kind === 'drain' ? left : false))]);
  if (!ended) await store.release(runtime.owner);
  return ended;
}

/** Gives what will be the outcome of each run that was begun. */
async function begin(runtime: Runtime, { roots, client: given }: Plan, life: Life): Promise<Promise<Outcome>[]> {
  const client = given && (await runtime.client({ limits: given.limits }).catch(() => null));
  const start: Runtime['start'] = client ? client.delegate : runtime.start;
  const started = await Promise.allSettled(roots.map(({ task, limits }) => start({ task, agent: 'any', limits })));
  const outcomes = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value.outcome] : []));
  if (!client) return outcomes;
  const { leavesAfterMs } = given;
  const gone = leavesAfterMs === null ? null : life.sleep(leavesAfterMs).then(() => true);
  const left = Promise.race([Promise.allSettled(outcomes).then(() => false), gone ?? new Promise<never>(() => {})]);
  return [...outcomes, left.then((isGone) => client.close({ gone: isGone }))];
}

/** A store that is busy now is asked again. */
async function goOn(runtime: Runtime, store: Store): Promise<Promise<Outcome>[]> {
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
function steer({ store, clock, ids, given }: World, chance: Chance): { end(): void } {
  let over = false;
  const give = async (kind: 'message' | 'cancel' | 'pause' | 'resume', runId: string, rootId: string) => {
    const id = ids.orderId();
    given.set(id, clock.monotonic());
    await store.order({ id, runId, rootId, kind, text: `order ${id}`, at: msToIso(clock.now()) });
  };
  const act = async () => {
    const rows = (await store.runs({ order: 'oldest' })).filter((row) => isLive(row.status));
    if (over) return;
    clock.at(clock.monotonic() + chance.int(5, 3000), () => void act());
    if (rows.length === 0) return;
    const { runId, rootId } = chance.pick(rows);
    const kind = chance.pick(['message', 'message', 'pause', 'cancel'] as const);
    if (kind === 'cancel' && chance.hit(0.6)) return;
    await give(kind, runId, rootId);
    if (kind === 'pause') clock.at(clock.monotonic() + chance.int(1, 2000), () => void give('resume', runId, rootId));
  };
  if (chance.hit(0.5)) clock.at(chance.int(5, 2000), () => void act());
  return {
    end() {
      over = true;
    },
  };
}

function idsOf(chance: Chance): Ids {
  let n = 0;
  const next = () => (++n).toString(16).padStart(16, '0');
  return { runId: next, orderId: () => `order-${next()}`, random: () => chance.next() };
}

function optionsOf(world: World, life: Life): Parameters<typeof createRuntime>[0] {
  const { plan, outside, ids } = world;
  const tools = toolsOf(life, outside);
  const executors = { inline: inlineExecutorOf(life), process: processExecutorOf(life, outside) };
  const { endsWithClient = false } = plan.client ?? {};
  const ruleset = builtInRuleset(
    native.tools.map((tool) => tool.name),
    tools.map((tool) => tool.name),
  );
  return {
    store: world.open(life),
    clock: life.clock,
    ids,
    catalog: createCatalog([anyAgent]),
    tools,
    dialect: { ...native, setup: { ...native.setup, endsWithClient, host: plan.hosts.delegated } },
    // A root in a process has all its descendants in processes; otherwise the dialect decides for them.
    host: plan.hosts.top === 'process' ? 'process' : undefined,
    executorNamed: (name) => executors[name as HostName] ?? null,
    workspaces: { read: async () => ({ ok: false, reason: 'does not exist' }) },
    memories: createMemoryNotes().memories,
    callModel: callerOf(plan, life, outside),
    compileSchema,
    redact: (text) => text,
    models: modelsOf(plan),
    settings: { workspace: '/simulated', model: 'simulated/one', limits: {}, rulesets: () => [ruleset] },
  };
}
