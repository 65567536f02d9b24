// Journals of each version of the contract, as they were written: they are taken in, verify and replay for ever (invariant 9). A change that
// breaks one of them needs a new version of the loop or of the facts, never a new journal.
import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { createTransfer } from '../../src/records/transfer.ts';
import { createProofs } from '../../src/records/verify.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';

const folder = join(import.meta.dirname, '../fixtures/journals');
const versions = readdirSync(folder);
const journals = versions.flatMap((version) => readdirSync(join(folder, version)).map((name) => join(version, name)));

it('there are journals of every dialect, and of every way to end', () => {
  const names = journals.map((name) => name.replace(/^v1\/|\.jsonl$/g, ''));
  expect(names).toEqual(expect.arrayContaining(['ralph', 'dex', 'openfork', 'rx', 'xzatoma', 'native-tree']));
  expect(names).toEqual(
    expect.arrayContaining(['failed', 'empty', 'exhausted', 'timed-out', 'cancelled', 'resumed', 'paused'].map((way) => `native-${way}`)),
  );
});

describe.each(journals)('%s', (name) => {
  it('is taken in, verifies and replays', async () => {
    const store = createMemoryStore();
    const lines = createInterface({ input: createReadStream(join(folder, name)) });
    const { rootId, runs } = await createTransfer(store).import(lines);
    const proofs = createProofs(store);
    expect(await proofs.verify()).toMatchObject({ trees: 1, runs, broken: [] });
    const replayed = await proofs.replay(rootId);
    expect(replayed.map(({ difference }) => difference)).toEqual(replayed.map(() => null));
    expect(replayed).toHaveLength(runs);
    await store.close();
  });
});
