import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Amount, type Budget, createBudget, type Reservation } from '../../src/scheduling/budget.ts';

const none = { tokens: 0, costUsd: 0 };
const unlimited = { maxTokens: null, maxCostUsd: null };
const tokens = (count: number): Amount => ({ tokens: count, costUsd: 0 });
const usd = (cost: number): Amount => ({ tokens: 0, costUsd: cost });
const options = (headroom = none, signal = new AbortController().signal) => ({ headroom, signal });

async function granted(budget: Budget, estimate: Amount): Promise<(actual: Amount) => void> {
  const reservation = await budget.reserve(estimate, options());
  if (!reservation.ok) throw new Error(`refused: ${reservation.cause}`);
  return reservation.settle;
}

interface Call {
  node: number;
  estimate: Amount;
  actual: Amount;
  headroom: Amount;
  stop: AbortController;
  state: 'waiting' | 'flying' | 'refused' | 'aborted' | 'settled';
  settle: ((actual: Amount) => void) | null;
}

const cents = (max: number) => fc.nat(max).map((cent) => cent / 100);
const amount = fc.record({ tokens: fc.nat(60), costUsd: cents(60) });
const limit = (max: number) =>
  fc.record({ maxTokens: fc.option(fc.integer({ min: 1, max }), { freq: 4 }), maxCostUsd: fc.option(cents(max), { freq: 4 }) });
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('reserve' as const),
      node: fc.nat(),
      estimate: amount,
      actual: fc.oneof({ weight: 3, arbitrary: amount }, { weight: 1, arbitrary: fc.record({ tokens: fc.nat(300), costUsd: cents(300) }) }),
      headroom: fc.constantFrom(none, tokens(10), usd(0.1)),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const), which: fc.nat() }) },
);
const world = fc.record({
  root: limit(300),
  children: fc.array(fc.record({ under: fc.nat(), limit: limit(200) }), { maxLength: 6 }),
  steps: fc.array(step, { maxLength: 60, size: 'max' }),
});

describe('budget, random trees and interleavings', () => {
  test('B1 to B4: within the limit except for calls in flight; no call waits forever; nothing stays reserved', async () => {
    let waits = 0;
    let overruns = 0;
    await fc.assert(
      fc.asyncProperty(world, async ({ root, children, steps }) => {
        const nodes = [{ budget: createBudget(root), above: -1, ...root }];
        for (const { under, limit } of children) {
          const above = under % nodes.length;
          nodes.push({ budget: nodes[above]!.budget.child(limit), above, ...limit });
        }
        const calls: Call[] = [];
        const of = (state: Call['state']) => calls.filter((call) => call.state === state);
        const chain = (node: number): number[] => (node === -1 ? [] : [node, ...chain(nodes[node]!.above)]);
        /** For each node, what the calls in flight at its last grant took beyond their estimates. */
        const allowance = nodes.map(() => none);
        const sum = (list: Amount[]) => list.reduce((a, b) => ({ tokens: a.tokens + b.tokens, costUsd: a.costUsd + b.costUsd }), none);

        async function look(): Promise<void> {
          for (let i = 0; i < 4; i++) await Promise.resolve();
          const flying = of('flying');
          for (const [index, node] of nodes.entries()) {
            const below = (call: Call) => chain(call.node).includes(index);
            const spent = node.budget.spent();
            const reserved = node.budget.reserved();
            expect(reserved.tokens).toBe(sum(flying.filter(below).map((call) => call.estimate)).tokens);
            expect(spent.tokens).toBe(
              sum(
                of('settled')
                  .filter(below)
                  .map((call) => call.actual),
              ).tokens,
            );
            expect(spent.costUsd).toBeCloseTo(
              sum(
                of('settled')
                  .filter(below)
                  .map((call) => call.actual),
              ).costUsd,
              8,
            );
            if (node.maxTokens !== null) expect(spent.tokens).toBeLessThanOrEqual(node.maxTokens + allowance[index]!.tokens);
            if (node.maxCostUsd !== null) expect(spent.costUsd).toBeLessThanOrEqual(node.maxCostUsd + allowance[index]!.costUsd + 1e-9);
          }
          if (flying.length === 0) expect(of('waiting')).toEqual([]);
        }

        async function take(one: (typeof steps)[number]): Promise<void> {
          if (one.do === 'settle') {
            const call = of('flying')[one.which % Math.max(1, of('flying').length)];
            if (call !== undefined) call.state = 'settled';
            call?.settle?.(call.actual);
            call?.settle?.(tokens(1e6));
          }
          if (one.do === 'abort') of('waiting')[one.which % Math.max(1, of('waiting').length)]?.stop.abort();
          if (one.do === 'reserve') {
            const node = one.node % nodes.length;
            const call: Call = { ...one, node, stop: new AbortController(), state: 'waiting', settle: null };
            calls.push(call);
            void nodes[node]!.budget.reserve(call.estimate, options(call.headroom, call.stop.signal)).then((answer) => {
              call.state = answer.ok ? 'flying' : answer.cause === 'aborted' ? 'aborted' : 'refused';
              if (!answer.ok) return;
              call.settle = answer.settle;
              for (const index of chain(node)) {
                const flying = of('flying').filter((other) => chain(other.node).includes(index));
                const over = (key: keyof Amount) =>
                  flying.reduce((total, { actual, estimate }) => total + Math.max(0, actual[key] - estimate[key]), 0);
                allowance[index] = { tokens: over('tokens'), costUsd: over('costUsd') };
              }
            });
          }
          await look();
          waits += of('waiting').length > 0 ? 1 : 0;
        }

        for (const one of steps) await take(one);
        while (of('flying').length > 0) await take({ do: 'settle', which: 0 });
        expect(of('waiting')).toEqual([]);
        for (const { budget } of nodes) expect(budget.reserved()).toEqual(none);
        const { maxTokens } = nodes[0]!;
        if (maxTokens !== null && nodes[0]!.budget.spent().tokens > maxTokens) overruns++;
      }),
      { seed: 20_265, numRuns: 400 },
    );
    // The cases are meaningful: calls did wait, and some trees exceeded their limit by calls in flight.
    expect(waits).toBeGreaterThan(100);
    expect(overruns).toBeGreaterThan(10);
  });
});

describe('budget, by example', () => {
  test('B1: the node and its ancestors count; the nearest exceeded limit is named, tokens before cost', async () => {
    const root = createBudget({ maxTokens: 100, maxCostUsd: 1 });
    const child = root.child({ maxTokens: 500, maxCostUsd: 0.5 });
    expect(await child.reserve({ tokens: 200, costUsd: 0.6 }, options())).toEqual({ ok: false, cause: 'max_cost' });
    expect(await child.reserve({ tokens: 200, costUsd: 0.1 }, options())).toEqual({ ok: false, cause: 'max_tokens' });
    expect(await root.reserve({ tokens: 200, costUsd: 2 }, options())).toEqual({ ok: false, cause: 'max_tokens' });
    expect((await child.reserve({ tokens: 100, costUsd: 0.5 }, options())).ok).toBe(true);
  });

  test('B1: headroom is kept free for the wrap-up, which may use it', async () => {
    const budget = createBudget({ maxTokens: 100, maxCostUsd: null });
    (await granted(budget, tokens(70)))(tokens(70));
    expect(await budget.reserve(tokens(20), options(tokens(20)))).toEqual({ ok: false, cause: 'max_tokens' });
    expect((await budget.reserve(tokens(20), options())).ok).toBe(true);
  });

  test('B3: waiting calls are served in order, even a small one behind a large one', async () => {
    const budget = createBudget({ maxTokens: 100, maxCostUsd: null });
    const first = await granted(budget, tokens(60));
    const order: string[] = [];
    void budget
      .child(unlimited)
      .reserve(tokens(60), options())
      .then(() => order.push('large'));
    void budget
      .child(unlimited)
      .reserve(tokens(10), options())
      .then(() => order.push('small'));
    await Promise.resolve();
    expect(order).toEqual([]);
    first(tokens(30));
    for (let i = 0; i < 5; i++) await Promise.resolve();
    expect(order).toEqual(['large', 'small']);
  });

  test('B3: a waiting call is refused when spending leaves no room for it', async () => {
    const budget = createBudget({ maxTokens: 100, maxCostUsd: null });
    const first = await granted(budget, tokens(60));
    const second = budget.reserve(tokens(60), options());
    first(tokens(60));
    expect(await second).toEqual({ ok: false, cause: 'max_tokens' });
  });

  test('B3: an aborted call leaves the queue and no listener', async () => {
    const budget = createBudget({ maxTokens: 100, maxCostUsd: null });
    await granted(budget, tokens(60));
    const stop = new AbortController();
    const stopped = budget.reserve(tokens(50), options(none, stop.signal));
    const kept = new AbortController();
    const behind = budget.reserve(tokens(40), options(none, kept.signal));
    expect(await budget.reserve(tokens(1), options(none, AbortSignal.abort()))).toEqual({ ok: false, cause: 'aborted' });
    stop.abort();
    expect(await stopped).toEqual({ ok: false, cause: 'aborted' });
    expect((await behind).ok).toBe(true);
    for (const { signal } of [stop, kept]) expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('B4: settled once; fractions of a cent do not accumulate errors', async () => {
    const budget = createBudget({ maxTokens: null, maxCostUsd: 0.3 });
    const settles = [await granted(budget, usd(0.1)), await granted(budget, usd(0.1)), await granted(budget, usd(0.1))];
    expect(budget.left()).toEqual({ tokens: null, costUsd: 0.3 });
    for (const settle of settles) {
      settle(usd(0.07));
      settle(usd(1));
    }
    expect([budget.reserved(), budget.spent(), budget.left()]).toEqual([none, usd(0.21), { tokens: null, costUsd: 0.09 }]);
  });

  test('B5: invalid usage counts as the estimate', async () => {
    for (const nonsense of [Number.NaN, Number.POSITIVE_INFINITY, -1, -1e-12, undefined as unknown as number]) {
      const budget = createBudget({ maxTokens: 100, maxCostUsd: 1 });
      (await granted(budget, { tokens: 50, costUsd: 0.5 }))({ tokens: nonsense, costUsd: nonsense });
      expect(budget.spent()).toEqual({ tokens: 50, costUsd: 0.5 });
      await expect(budget.reserve(tokens(nonsense), options())).rejects.toThrow('not a valid amount');
      expect(() => budget.charge(usd(nonsense))).toThrow('not a valid amount');
    }
    const budget = createBudget({ maxTokens: Number.NaN, maxCostUsd: null });
    expect(await budget.reserve(tokens(1), options())).toEqual({ ok: false, cause: 'max_tokens' });
  });

  test('charged spending counts on every level, and what is left is the minimum of all levels', async () => {
    const root = createBudget({ maxTokens: 100, maxCostUsd: null });
    const child = root.child({ maxTokens: 80, maxCostUsd: 2 });
    child.charge({ tokens: 30, costUsd: 0.5 });
    root.charge(tokens(40));
    expect(child.left()).toEqual({ tokens: 30, costUsd: 1.5 });
    expect(root.left()).toEqual({ tokens: 30, costUsd: null });
    root.charge(tokens(1_000));
    expect(child.left().tokens).toBe(0);
    const answer: Reservation = await child.reserve(tokens(1), options());
    expect(answer).toEqual({ ok: false, cause: 'max_tokens' });
  });
});
