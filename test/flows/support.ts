// Flows in processes that die, and journals of other releases.
import { Readable } from 'node:stream';
import type { Fact, FactType } from '../../src/contract/fact.ts';
import { genesisHash } from '../../src/kernel/journal.ts';
import type { FlowDefinition } from '../../src/main/flow.ts';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';
import type { Store } from '../../src/ports/store.ts';
import { exportTree } from '../../src/records/export-tree.ts';
import { importTree } from '../../src/records/import-tree.ts';
import { canonical, factHash } from '../../src/text/canonical.ts';
import { createDyingStore } from '../support/dying-store.ts';

export const anyModel = (...steps: object[]) => scriptedModel({ runs: [{ times: 'any', steps }] });

/** Starts a flow in a process that dies with the first fact of this type. Returns the id of its run. */
export async function interruptAt(type: FactType, store: Store, definition: FlowDefinition): Promise<string> {
  const dying = createDyingStore(store, 1000, { after: type });
  const retinue = createRetinue({ model: anyModel({ text: 'fine' }), store: dying.store });
  const run = await retinue.flow(definition, null);
  await dying.died;
  await dying.bury();
  return run.id;
}

/** The tree in another store, with its root's facts as `change` makes them: what another release would have recorded. */
export async function copyTree(store: Store, rootId: string, change: (fact: Fact) => Fact): Promise<Store> {
  const copy = createMemoryStore();
  const { header, lines } = await exportTree(rootId, { live: true }, store);
  const changed: object[] = [];
  let prev = genesisHash;
  for await (const line of lines) {
    if (!('runId' in line) || line.runId !== rootId) changed.push(line);
    else {
      const { hash: _, ...fact } = change(line as Fact);
      prev = factHash(fact, canonical(fact.data), prev);
      changed.push({ ...fact, hash: prev });
    }
  }
  const texts = [{ ...header, lastHash: prev }, ...changed].map((line) => JSON.stringify(line));
  await importTree(Readable.from(texts), { unfinished: true }, copy);
  return copy;
}
