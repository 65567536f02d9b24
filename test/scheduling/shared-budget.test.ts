// Trees of several processes that share a budget, on a real ledger in memory and a clock that the test moves.
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { Amount } from '../../src/contract/budget.ts';
import type { DrawRequest } from '../../src/ports/budgets.ts';
import { type Budget, createBudget, type Reservation } from '../../src/scheduling/budget.ts';
import { createDeadlines } from '../../src/scheduling/deadlines.ts';
import { createSharedBudget } from '../../src/scheduling/shared-budget.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock, type HandClock } from '../../src/testing/hand-clock.ts';
import { createRootUnit } from '../../src/testing/store-suite/fixtures.ts';

const unlimited = { maxTokens: null, maxCostUsd: null };
const tokens = (count: number): Amount => ({ tokens: count, costUsd: 0 });
const none = tokens(0);
const day = 86_400_000;

interface Setup {
  clock: HandClock;
  store: ReturnType<typeof createMemoryStore>;
  draws: DrawRequest[];
  /** `isCut`: its draws no longer reach the ledger. */
  addTree(): Promise<{ runId: string; budget: Budget; isCut: boolean }>;
}

async function createSetup(limit: number, per: 'total' | 'day' = 'total'): Promise<Setup> {
  const clock = createHandClock({ now: Date.parse('2026-11-17T12:00:00.000Z') });
  const store = createMemoryStore({ clock });
  const deadlines = createDeadlines(clock);
  const draws: DrawRequest[] = [];
  await store.budgets.set({ name: 'team', tokens: limit, costUsd: null, per, timezone: 'UTC', whenExceeded: 'pause' });
  let count = 0;
  return {
    clock,
    store,
    draws,
    async addTree() {
      const owner = await store.open();
      const runId = (++count).toString(16).padStart(16, '0');
      await store.append(owner, [createRootUnit(runId)]);
      const tree = { runId, isCut: false, budget: null as unknown as Budget };
      const shared = createSharedBudget({
        clock,
        deadlines,
        random: () => 0.5,
        draw: async (use) => {
          if (tree.isCut) return new Promise<never>(() => {});
          const request = { rootId: runId, runId, budgets: ['team'], ...use };
          draws.push(request);
          return store.budgets.draw(owner, request);
        },
      });
      tree.budget = createBudget(unlimited, shared);
      return tree;
    },
  };
}

const reserve = (budget: Budget, estimate: number, signal = new AbortController().signal) =>
  budget.reserve(tokens(estimate), { headroom: none, signal });

async function granted(budget: Budget, estimate: number): Promise<(actual: Amount) => void> {
  const reservation = await reserve(budget, estimate);
  if (!reservation.ok) throw new Error(`refused: ${reservation.cause}`);
  return reservation.settle;
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('reserve' as const),
      tree: fc.nat(),
      estimate: fc.integer({ min: 1, max: 40 }),
      actual: fc.oneof({ weight: 3, arbitrary: fc.nat(40) }, { weight: 1, arbitrary: fc.nat(200) }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(50, 1_000, 6_000, 20_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), tree: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const), tree: fc.nat() }) },
);

describe('shared budget, random trees and interleavings', () => {
  test('a budget is exceeded at most by what calls in flight took beyond their estimates; nothing stays reserved', async () => {
    let refused = 0;
    let waited = 0;
    let overruns = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 600 }), fc.array(step, { maxLength: 50, size: 'max' }), async (limit, steps) => {
        const { clock, store, addTree } = await createSetup(limit);
        interface Call {
          tree: number;
          estimate: number;
          actual: number;
          state: 'waiting' | 'flying' | 'refused' | 'settled' | 'lost';
          settle: ((actual: Amount) => void) | null;
        }
        const trees = await Promise.all([0, 1, 2].map(addTree));
        const allowance = trees.map(() => 0);
        const gone = new Set<number>();
        const calls: Call[] = [];
        const of = (state: Call['state']) => calls.filter((call) => call.state === state);
        const over = (list: Call[]) => list.reduce((sum, { actual, estimate }) => sum + Math.max(0, actual - estimate), 0);
        const spentBy = (tree: number) => of('settled').reduce((sum, call) => sum + (call.tree === tree ? call.actual : 0), 0);
        const check = () => {
          const total = of('settled').reduce((sum, { actual }) => sum + actual, 0);
          expect(total).toBeLessThanOrEqual(limit + allowance.reduce((sum, each) => sum + each, 0));
          if (total > limit) overruns++;
        };
        const settle = (call: Call | undefined) => {
          if (call === undefined) return;
          call.state = 'settled';
          call.settle?.(tokens(call.actual));
        };
        /** Its process is dead: what it had in flight is lost, and somebody returns its reservation. */
        const kill = async (index: number) => {
          const tree = trees[index]!;
          tree.isCut = true;
          gone.add(index);
          for (const call of calls) if (call.tree === index && (call.state === 'flying' || call.state === 'waiting')) call.state = 'lost';
          for (const draw of await store.budgets.openDraws())
            if (draw.runId === tree.runId) await store.budgets.settle(draw, tokens(spentBy(index)));
        };
        for (const one of steps) {
          const live = trees.map((_, index) => index).filter((index) => !gone.has(index));
          const index = live[('tree' in one ? one.tree : 0) % Math.max(1, live.length)];
          if (one.do === 'settle') settle(of('flying')[one.which % Math.max(1, of('flying').length)]);
          if (one.do === 'advance') await clock.advance(one.ms);
          if (one.do === 'kill' && index !== undefined && live.length > 1) await kill(index);
          if (one.do === 'close' && index !== undefined && !calls.some((call) => call.tree === index && call.settle === null)) {
            for (const call of of('flying')) if (call.tree === index) settle(call);
            await trees[index]!.budget.close();
            gone.add(index);
          }
          if (one.do === 'reserve' && index !== undefined) {
            const call: Call = { tree: index, estimate: one.estimate, actual: one.actual, state: 'waiting', settle: null };
            calls.push(call);
            void reserve(trees[index]!.budget, one.estimate).then((answer: Reservation) => {
              if (call.state === 'lost') return;
              call.state = answer.ok ? 'flying' : 'refused';
              call.settle = answer.ok ? answer.settle : () => {};
              if (answer.ok) allowance[index] = over(of('flying').filter((other) => other.tree === index));
            });
          }
          await clock.advance(0);
          waited += of('waiting').length > 0 ? 1 : 0;
          check();
        }
        // Everybody ends their calls, and every waiting call gets an answer.
        for (let i = 0; i < 200 && of('flying').length + of('waiting').length > 0; i++) {
          for (const call of of('flying')) settle(call);
          await clock.advance(3_000);
          check();
        }
        expect(of('waiting')).toEqual([]);
        refused += of('refused').length;
        await clock.advance(20_000);
        const total = trees.reduce((sum, _, index) => sum + spentBy(index), 0);
        expect(await store.budgets.list()).toMatchObject([{ spent: tokens(total), reserved: none }]);
        for (const [index, { budget }] of trees.entries()) if (!gone.has(index)) await budget.close();
        await store.close();
      }),
      { seed: 20_265, numRuns: 150 },
    );
    // The cases are meaningful.
    expect(refused).toBeGreaterThan(100);
    expect(waited).toBeGreaterThan(20);
    expect(overruns).toBeGreaterThan(10);
  }, 60_000);
});

describe('shared budget, by example', () => {
  let setup: Setup;
  afterEach(() => setup.store.close());

  test('several calls need one draw', async () => {
    setup = await createSetup(1_000_000);
    const { budget } = await setup.addTree();
    for (let i = 0; i < 9; i++) (await granted(budget, 100))(tokens(100));
    expect(setup.draws).toHaveLength(1);
    await granted(budget, 100);
    expect(setup.draws).toHaveLength(2);
    expect(setup.draws[1]).toMatchObject({ spent: tokens(900) });
  });

  test('a reservation that is no longer valid is renewed before a call, and returned without one', async () => {
    setup = await createSetup(1_000);
    const { budget } = await setup.addTree();
    const settle = await granted(budget, 10);
    await setup.clock.advance(6_000);
    // The call is in flight: only the rest was returned.
    expect(await setup.store.budgets.list()).toMatchObject([{ reserved: tokens(10) }]);
    expect(setup.draws).toHaveLength(2);
    await setup.clock.advance(60_000);
    expect(setup.draws).toHaveLength(2);
    settle(tokens(12));
    await setup.clock.advance(6_000);
    expect(await setup.store.budgets.list()).toMatchObject([{ spent: tokens(12), reserved: none }]);
    await setup.clock.advance(60_000);
    expect(setup.draws).toHaveLength(3);
    await granted(budget, 10);
    expect(setup.draws).toHaveLength(4);
  });

  test('a call waits for the reservations of other trees, and is refused when they are spent', async () => {
    setup = await createSetup(100);
    const [first, second] = [await setup.addTree(), await setup.addTree()];
    const settle = await granted(first.budget, 80);
    const answers: Reservation[] = [];
    void reserve(second.budget, 30).then((answer) => answers.push(answer));
    await setup.clock.advance(10_000);
    expect(answers).toEqual([]);
    settle(tokens(80));
    await setup.clock.advance(10_000);
    expect(answers).toMatchObject([{ ok: false, cause: 'max_tokens', shared: { budget: 'team', whenExceeded: 'pause', resetMs: null } }]);
  });

  test('an aborted call leaves the queue, and the next one is served', async () => {
    setup = await createSetup(100);
    const [first, second] = [await setup.addTree(), await setup.addTree()];
    const settle = await granted(first.budget, 80);
    const stop = new AbortController();
    const stopped = reserve(second.budget, 60, stop.signal);
    const behind = reserve(second.budget, 5);
    await setup.clock.advance(500);
    stop.abort();
    expect(await stopped).toEqual({ ok: false, cause: 'aborted' });
    await setup.clock.advance(5_000);
    expect((await behind).ok).toBe(true);
    settle(none);
  });

  test('a new period gives the whole budget again, to a reservation of before nothing', async () => {
    setup = await createSetup(100, 'day');
    const { budget } = await setup.addTree();
    (await granted(budget, 90))(tokens(95));
    expect(await reserve(budget, 10)).toMatchObject({ ok: false, shared: { resetMs: day / 2 } });
    await setup.clock.advance(day / 2);
    (await granted(budget, 90))(tokens(90));
    expect(await setup.store.budgets.list()).toMatchObject([{ reserved: tokens(92) }]);
    await budget.close();
    expect(await setup.store.budgets.list()).toMatchObject([{ spent: tokens(90), reserved: none }]);
  });

  test('a process that was stopped asks again before its next call', async () => {
    setup = await createSetup(100);
    const { budget, runId } = await setup.addTree();
    (await granted(budget, 10))(tokens(10));
    const open = (await setup.store.budgets.openDraws())[0]!;
    expect(open.runId).toBe(runId);
    // As if every timer of the process had stood still: only its clock shows that time has passed.
    await setup.clock.advance(5_000);
    await setup.store.budgets.settle(open, tokens(10));
    const before = setup.draws.length;
    await granted(budget, 10);
    expect(setup.draws.length).toBe(before + 1);
  });
});
