// A process that dies: its store accepts a number of facts and then never answers again.

import { scriptedModel } from '../../src/main/testing.ts';
import type { Store } from '../../src/ports/store.ts';

export const anyModel = (...steps: object[]) => scriptedModel({ runs: [{ times: 'any', steps }] });

export interface DyingStore {
  store: Store;
  /** Resolves when it has died. */
  died: Promise<void>;
  /** What the operating system does: its lease ends. */
  bury(): Promise<void>;
}

/** `isLost`: the last accepted facts were written, but the process never learned it. */
export function createDyingStore(store: Store, facts: number, { isLost = false } = {}): DyingStore {
  const death = Promise.withResolvers<void>();
  const owners: Parameters<Store['release']>[0][] = [];
  const never = new Promise<never>(() => {});
  let left = facts;
  return {
    died: death.promise,
    bury: async () => {
      for (const owner of owners) await store.release(owner);
    },
    store: {
      ...store,
      async open(queues) {
        const owner = await store.open(queues);
        owners.push(owner);
        return owner;
      },
      async append(owner, units) {
        const count = units.reduce((sum, unit) => sum + unit.facts.length, 0);
        const isLast = left <= count;
        left -= count;
        if (isLast && (left < 0 || !isLost)) {
          left = -1;
          death.resolve();
          return never;
        }
        const results = await store.append(owner, units);
        if (!isLast) return results;
        death.resolve();
        return never;
      },
      close: async () => {},
    },
  };
}
