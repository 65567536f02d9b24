// What the simulations share: the world of one seed, orders from outside, and the options of a runtime in a simulated process.
import { createCatalog } from '../../src/agents/catalog.ts';
import { listOpenQuestions } from '../../src/api/questions.ts';
import { checkRules } from '../../src/config/rulesets.ts';
import type { Order } from '../../src/contract/order.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { isLive } from '../../src/contract/run-status.ts';
import { native } from '../../src/dialects/native.ts';
import type { createRuntime, Runtime } from '../../src/kernel/runtime.ts';
import type { Ids } from '../../src/ports/ids.ts';
import type { Store } from '../../src/ports/store.ts';
import { builtInRuleset } from '../../src/rules/policy.ts';
import { createMemoryNotes } from '../../src/stores/notes-memory.ts';
import type { HandClock } from '../../src/testing/hand-clock.ts';
import { msToIso } from '../../src/text/instant.ts';
import { compileSchema } from '../../src/tools/json-schema.ts';
import { createInlineExecutor, createProcessExecutor } from './executors.ts';
import { createSimulatedFlow } from './flow.ts';
import type { HostName, Plan } from './plan.ts';
import { createCaller, createModels, createTools, type Outside } from './ports.ts';
import type { FailureRates, SimulatedProcess } from './process.ts';
import type { Random } from './random.ts';

export const anyAgent = { name: 'any', description: '', prompt: 'You work.', source: 'simulation' };

export const createRoughRates = (random: Random): FailureRates => ({
  ...{ store: 0.004, model: 0.05, tool: 0.05, host: 0.01, slow: 0.5 },
  slowMs: random.pick([5, 50, 400]),
});

export interface World {
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
  ordersGiven: GivenOrder[];
  /** When the last process resumed everything, and when each tree ended. */
  resumedAt: number;
  treeEnds: Map<string, number>;
}

export interface GivenOrder {
  id: string;
  kind: Order['kind'];
  rootId: string;
  givenAt: number;
}

/** Orders from outside at random moments: messages, cancels, compactions, answers to questions, pauses and their ends. */
export function steer(
  { store, clock, ids, ordersGiven }: Pick<World, 'store' | 'clock' | 'ids' | 'ordersGiven'>,
  random: Random,
): { end(): void } {
  let isOver = false;
  const give = async (kind: Order['kind'], runId: string, rootId: string, more: Pick<Order, 'call'> = {}) => {
    const id = ids.orderId();
    ordersGiven.push({ id, kind, rootId, givenAt: clock.monotonic() });
    await store.order({ id, runId, rootId, kind, by: 'the user', text: `order ${id}`, at: msToIso(clock.now()), ...more });
  };
  const answer = async () => {
    const questions = await listOpenQuestions(store);
    if (isOver || questions.length === 0) return;
    const { runId, rootId, turn, index, hash } = random.pick(questions);
    await give(random.pick(['approve', 'refuse'] as const), runId, rootId, { call: { turn, index, hash, always: false } });
  };
  const act = async () => {
    const rows = (await store.runs({ order: 'oldest' })).filter((row) => isLive(row.status));
    if (isOver) return;
    clock.at(clock.monotonic() + random.int(5, 3000), () => void act());
    if (rows.length === 0) return;
    const { runId, rootId, kind: runKind } = random.pick(rows);
    const kind = random.pick(['message', 'message', 'pause', 'cancel', 'compact', 'answer'] as const);
    if (kind === 'answer') return answer();
    if (kind === 'cancel' && random.hit(0.6)) return;
    // Only the conversations of agents are compacted.
    if (kind === 'compact' && runKind !== 'agent') return;
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

export function createIds(random: Random): Ids {
  let n = 0;
  const next = () => (++n).toString(16).padStart(16, '0');
  return { runId: next, orderId: () => `order-${next()}`, key: () => 'a fixed key', random: () => random.next() };
}

export function createOptions(
  world: Pick<World, 'plan' | 'outside' | 'ids' | 'open'>,
  proc: SimulatedProcess,
): Parameters<typeof createRuntime>[0] {
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
    findExecutor: (name) => executors[name as HostName] ?? null,
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
    flows: { load: async () => createSimulatedFlow(plan, proc, outside) },
    settings: { workspace: '/simulated', model: 'simulated/one', limits: {}, rulesets: () => [ruleset], checkRules },
  };
}
