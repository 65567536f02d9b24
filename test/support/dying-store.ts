// A process that dies: its store accepts a number of facts and then never answers again.
import type { FactType } from '../../src/contract/fact.ts';
import type { Store } from '../../src/ports/store.ts';

export interface DyingStore {
  store: Store;
  /** Resolves when it has died. */
  died: Promise<void>;
  /** What the operating system does: its lease ends. */
  bury(): Promise<void>;
}

export interface DeathOptions {
  /** The last accepted facts were written, but the process never learned it. */
  isLost?: boolean;
  /** It dies with the first fact of this type, which is written. */
  after?: FactType;
}

export function createDyingStore(store: Store, facts: number, { isLost = false, after }: DeathOptions = {}): DyingStore {
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
        const isWanted = left > count && units.some((unit) => unit.facts.some(({ type }) => type === after));
        if (isWanted) left = count;
        const isLast = left <= count;
        left -= count;
        if (isLast && (left < 0 || !(isLost || isWanted))) {
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
