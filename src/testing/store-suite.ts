// The conformance suite of the store port, for every adapter: each sentence of ports/store.ts has a test here, in the file of its subject.
import { afterEach, beforeEach, describe } from 'vitest';
import { testAppending } from './store-suite/append.ts';
import { testBudgets } from './store-suite/budgets.ts';
import { testClosing } from './store-suite/closing.ts';
import { testErasing } from './store-suite/erasing.ts';
import type { StoreContext, StoreHarness } from './store-suite/fixtures.ts';
import { testInterleaving } from './store-suite/interleaving.ts';
import { testLeases } from './store-suite/leases.ts';
import { testLimits } from './store-suite/limits.ts';
import { testOrders } from './store-suite/orders.ts';
import { testMissingQueue, testQueue } from './store-suite/queue.ts';
import { testReading } from './store-suite/reading.ts';
import { testWatching } from './store-suite/watching.ts';

export type { StoreHarness } from './store-suite/fixtures.ts';

/** `hasQueue`: its trees can want a worker. `notifies`: processes hear of each other's refusals without asking. */
export function runStoreSuite(name: string, createHarness: () => Promise<StoreHarness>, { hasQueue = false, notifies = true } = {}): void {
  describe(name, () => {
    let context: StoreContext;
    beforeEach(async () => {
      const harness = await createHarness();
      const store = await harness.open();
      context = { harness, store, owner: await store.open() };
    });
    afterEach(() => context.harness.dispose());

    const subjects = [
      testAppending,
      testReading,
      testOrders,
      testLeases,
      testErasing,
      testWatching,
      testInterleaving,
      testBudgets,
      testClosing,
    ];
    for (const test of subjects) test(() => context);
    testLimits(() => context, { notifies });
    (hasQueue ? testQueue : testMissingQueue)(() => context);
  });
}
