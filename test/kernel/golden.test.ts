// Recorded journals of each contract version: all of them must stay importable, verifiable and replayable (invariant 9). A change that breaks
// one needs a new version of the loop or of the facts, never a new journal.
import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { importTree } from '../../src/records/import-tree.ts';
import { replayTree, verifyTrees } from '../../src/records/verify.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';

const folder = join(import.meta.dirname, '../fixtures/journals');
const versions = readdirSync(folder);
const journals = versions.flatMap((version) => readdirSync(join(folder, version)).map((name) => join(version, name)));

it('there are journals of every dialect and of every kind of end', () => {
  const names = journals.map((name) => name.replace(/^v1\/|\.jsonl$/g, ''));
  expect(names).toEqual(expect.arrayContaining(['ralph', 'dex', 'openfork', 'rx', 'xzatoma', 'claude', 'codex', 'native-tree']));
  expect(names).toEqual(
    expect.arrayContaining(
      ['failed', 'empty', 'exhausted', 'timed-out', 'cancelled', 'resumed', 'paused', 'compacted', 'refused'].map((end) => `native-${end}`),
    ),
  );
});

describe.each(journals)('%s', (name) => {
  it('can be imported, verified and replayed', async () => {
    const store = createMemoryStore();
    const lines = createInterface({ input: createReadStream(join(folder, name)) });
    const { rootId, runs } = await importTree(lines, { unfinished: false }, store);
    expect(await verifyTrees(undefined, store)).toMatchObject({ trees: 1, runs, broken: [] });
    const replayed = await replayTree(rootId, store);
    expect(replayed.map(({ difference }) => difference)).toEqual(replayed.map(() => null));
    expect(replayed).toHaveLength(runs);
    await store.close();
  });
});
