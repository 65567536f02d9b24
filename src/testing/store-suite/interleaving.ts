// Several processes that write at the same time: readers see every fact once, whatever the order of commits.
import { describe, expect, it } from 'vitest';
import type { StoredFact } from '../../contract/fact.ts';
import type { Store } from '../../ports/store.ts';
import { a, accepted, b, createFacts, createHash, createId, createRootUnit, createUnit, type GetContext } from './fixtures.ts';

const nameOf = ({ runId, seq }: Pick<StoredFact, 'runId' | 'seq'>) => `${runId}/${seq}`;

export function testInterleaving(getContext: GetContext): void {
  describe('several writers', () => {
    it('never shows a fact behind the cursor of a reader, even if a later append is committed first', async () => {
      const { harness, store, owner } = getContext();
      if (harness.delayBlobs === null) return;
      const other = await harness.open();
      const otherOwner = await other.open();
      const reader = await harness.open();
      await store.append(owner, [createRootUnit(a)]);
      await other.append(otherOwner, [createRootUnit(b)]);
      const seen = await createReader(reader);

      const delay = await harness.delayBlobs();
      const blobs = [{ hash: createHash(1), content: 'x' }];
      const first = store.append(owner, [createUnit(a, { facts: createFacts(a, 2, 3), blobs })]);
      await expect.poll(delay.isWaiting, { timeout: 20_000 }).toBe(true);
      expect(await other.append(otherOwner, [createUnit(b, { facts: createFacts(b, 2, 3) })])).toEqual([accepted]);
      // One tree is complete as soon as it is written.
      expect((await reader.facts({ rootId: b })).map(nameOf)).toEqual([1, 2, 3].map((seq) => nameOf({ runId: b, seq })));
      await seen.read();
      const { newest } = await reader.cursor();
      await delay.end();
      expect(await first).toEqual([accepted]);
      expect(await other.append(otherOwner, [createUnit(b, { facts: createFacts(b, 4) })])).toEqual([accepted]);

      await expect.poll(seen.read).toHaveLength(7);
      expect([...seen.names()].sort()).toEqual([...range(a, 3), ...range(b, 4)].sort());
      const later = await reader.facts({ after: newest });
      expect(later.map(nameOf)).toEqual(seen.names().slice(-later.length));
      expect((await reader.facts({})).map(nameOf)).toEqual(seen.names());
    });

    it('shows every fact once to readers that follow while others write', async () => {
      const { harness, store, owner } = getContext();
      const writers = [{ store, owner }];
      for (let n = 1; n < 3; n++) {
        const opened = await harness.open();
        writers.push({ store: opened, owner: await opened.open() });
      }
      const seen = await createReader(await harness.open());
      const ids = writers.map((_, index) => createId(100 + index));
      let isDone = false;
      const reading = (async () => {
        while (!isDone) await seen.read();
      })();
      await Promise.all(
        writers.map(async (writer, index) => {
          const id = ids[index] as string;
          await writer.store.append(writer.owner, [createRootUnit(id)]);
          for (let seq = 2; seq <= 25; seq++) await writer.store.append(writer.owner, [createUnit(id, { facts: createFacts(id, seq) })]);
        }),
      );
      isDone = true;
      await reading;
      await expect.poll(async () => (await seen.read()).length, { timeout: 10_000 }).toBe(75);
      expect(new Set(seen.names()).size).toBe(75);
      for (const id of ids) expect(seen.names().filter((name) => name.startsWith(id))).toEqual(range(id, 25));
    });
  });
}

function range(runId: string, to: number): string[] {
  return Array.from({ length: to }, (_, index) => nameOf({ runId, seq: index + 1 }));
}

/** Reads all trees from the beginning, always after the last fact that it got. */
async function createReader(store: Store): Promise<{ read(): Promise<string[]>; names(): string[] }> {
  const names: string[] = [];
  let after = '0';
  async function read(): Promise<string[]> {
    for (const fact of await store.facts({ after, limit: 3 })) {
      names.push(nameOf(fact));
      after = fact.position;
    }
    return names;
  }
  return { read, names: () => names };
}
