// `facts`, `runs`, `run` and `blob`: filters, order and paging.
import { beforeEach, describe, expect, it } from 'vitest';
import { isRetinueError } from '../../contract/error.ts';
import type { Store } from '../../ports/store.ts';
import {
  a,
  b,
  c,
  createFacts,
  createHash,
  createId,
  createRootUnit,
  createRow,
  createUnit,
  type GetContext,
  readRunIds,
} from './fixtures.ts';

export function testReading(getContext: GetContext): void {
  describe('reading', () => {
    beforeEach(async () => {
      const { store, owner } = getContext();
      const child = createRow(b, { parentId: a, rootId: a, depth: 1 });
      await store.append(owner, [createUnit(a, { facts: [...createFacts(a, 1), ...createFacts(b, 1)], rows: [createRow(a), child] })]);
      await store.append(owner, [
        createRootUnit(c, { status: 'completed' }),
        createUnit(a, { facts: [...createFacts(b, 2), ...createFacts(a, 2)] }),
      ]);
    });

    it('returns facts in the order of the store, of a run, a tree or everything', async () => {
      const { store } = getContext();
      const names = async (query: Parameters<Store['facts']>[0]) => (await store.facts(query)).map(({ runId, seq }) => `${runId}/${seq}`);
      expect(await names({ runId: b })).toEqual([`${b}/1`, `${b}/2`]);
      expect(await names({ rootId: a })).toEqual([`${a}/1`, `${b}/1`, `${b}/2`, `${a}/2`]);
      expect(await names({})).toEqual([`${a}/1`, `${b}/1`, `${c}/1`, `${b}/2`, `${a}/2`]);
      expect(await names({ rootId: a, runId: c })).toEqual([]);
      expect(await names({ runId: createId(99) })).toEqual([]);
    });

    it('continues after a position, up to a limit, with the requested types', async () => {
      const { store } = getContext();
      const all = await store.facts({});
      for (const query of [{}, { rootId: a }, { runId: a }, { runId: b, rootId: a }]) {
        const whole = await store.facts(query);
        const paged = [];
        for (let after: string | undefined; ; after = paged.at(-1)?.position) {
          const page = await store.facts({ ...query, limit: 1, ...(after === undefined ? {} : { after }) });
          if (page.length === 0) break;
          paged.push(...page);
        }
        expect(paged).toEqual(whole);
      }
      expect(await store.facts({ after: all.at(-1)?.position as string })).toEqual([]);
      expect(await store.facts({ types: ['run.created'] })).toEqual([]);
      expect(await store.facts({ types: ['run.created', 'message.received'], limit: 2 })).toEqual(all.slice(0, 2));
      expect(await store.facts({ limit: 0 })).toEqual([]);
      await expect(store.facts({ after: 'nonsense' })).rejects.toSatisfy(isRetinueError);
    });

    it('returns runs by tree, parent, state and id prefix, newest first by default', async () => {
      const { store, owner } = getContext();
      expect(await readRunIds(store, {})).toEqual([c, b, a]);
      expect(await readRunIds(store, { order: 'oldest' })).toEqual([a, b, c]);
      expect(await readRunIds(store, { limit: 1 })).toEqual([c]);
      expect(await readRunIds(store, { rootId: a })).toEqual([b, a]);
      expect(await readRunIds(store, { parentId: a })).toEqual([b]);
      expect(await readRunIds(store, { live: true, order: 'oldest' })).toEqual([a, b]);
      expect(await readRunIds(store, { live: false })).toEqual([c]);
      expect(await readRunIds(store, { roots: true })).toEqual([c, a]);
      expect(await readRunIds(store, { prefix: a.slice(0, 15) })).toEqual([c, b, a]);
      expect(await readRunIds(store, { prefix: b })).toEqual([b]);
      expect(await readRunIds(store, { prefix: 'f' })).toEqual([]);
      expect(await readRunIds(store, { prefix: '', live: true, roots: true })).toEqual([a]);
      await store.append(owner, [createUnit(a, { rows: [createRow(b, { parentId: a, rootId: a, status: 'failed' })] })]);
      expect(await readRunIds(store, { live: true })).toEqual([a]);
    });

    it('counts the runs of trees', async () => {
      const { store } = getContext();
      const counts = await store.countRuns([a, c, createId(99)]);
      expect(Object.fromEntries(counts)).toEqual({ [a]: { runs: 2, live: 2 }, [c]: { runs: 1, live: 0 } });
      expect(await store.countRuns([])).toEqual(new Map());
    });

    it('returns null for an unknown run or blob', async () => {
      const { store } = getContext();
      expect(await store.run(createId(99))).toBeNull();
      expect(await store.blob(createHash(99))).toBeNull();
    });

    it('shows what another process has written', async () => {
      const { harness, store } = getContext();
      const other = await harness.open();
      expect(await other.facts({})).toEqual(await store.facts({}));
      expect(await other.runs({})).toEqual(await store.runs({}));
    });
  });
}
