import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredFact } from '../../../src/contract/fact.ts';
import type { Store } from '../../../src/ports/store.ts';

/** A reader of all trees sees facts only when no older transaction of the server is open, so it may have to wait for the last ones. */
export async function readAllFacts(store: Store): Promise<StoredFact[]> {
  for (let tries = 0; ; tries++) {
    const rows = await store.runs({});
    const facts = await store.facts({});
    if (facts.length >= rows.reduce((sum, row) => sum + row.lastSeq, 0) || tries === 300) return facts;
    await sleep(200);
  }
}
