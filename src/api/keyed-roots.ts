// Root runs by their idempotency keys, for front-ends that keep a conversation of several trees.
import type { RunRow } from '../contract/run.ts';
import type { RunView } from '../contract/view.ts';
import type { Store } from '../ports/store.ts';
import type { Api } from './api.ts';

export interface KeyedRootsDeps {
  store: Pick<Store, 'runs' | 'runByKey'>;
  /** In the same order. */
  rowsToViews(rows: RunRow[]): Promise<RunView[]>;
}

const scanSize = 200;
/** With few keyed roots, one request looks at so many roots; the next one continues there. */
const maxScanned = 5_000;

export function createKeyedRoots({ store, rowsToViews }: KeyedRootsDeps): Pick<Api, 'keyed' | 'keyedRoots'> {
  return {
    async keyed(key) {
      const row = await store.runByKey(null, key);
      return row === null ? null : ((await rowsToViews([row]))[0] ?? null);
    },
    async keyedRoots({ prefix, limit, before }) {
      const found: RunRow[] = [];
      let last = before;
      for (let scanned = 0; scanned < maxScanned; ) {
        const rows = await store.runs({ roots: true, order: 'newest', limit: scanSize, ...(last === undefined ? {} : { before: last }) });
        for (const row of rows) {
          last = row.runId;
          if (row.idempotencyKey?.startsWith(prefix)) found.push(row);
          if (found.length === limit) return { roots: await describe(found), next: last };
        }
        scanned += rows.length;
        if (rows.length < scanSize) return { roots: await describe(found), next: null };
      }
      return { roots: await describe(found), next: last ?? null };
    },
  };

  async function describe(rows: RunRow[]): Promise<{ key: string; run: RunView }[]> {
    const views = await rowsToViews(rows);
    return rows.map(({ idempotencyKey }, i) => ({ key: idempotencyKey as string, run: views[i] as RunView }));
  }
}
