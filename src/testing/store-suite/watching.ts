// `cursor`, `search`, `publish` and `subscribe`: what screens need.
import { describe, expect, it } from 'vitest';
import type { Delta } from '../../contract/delta.ts';
import { a, b, c, createFacts, createRootUnit, createRow, createUnit, type GetContext, readRunIds } from './fixtures.ts';

const delta: Delta = { type: 'delta', runId: a, turn: 1, kind: 'text', text: 'one\ntwo "three" ünï' };

export function testWatching(getContext: GetContext): void {
  describe('watching', () => {
    it('tells the newest position and how far a cursor is behind', async () => {
      const { store, owner } = getContext();
      expect(await store.cursor('0')).toEqual({ newest: '0', behind: 0 });
      await store.append(owner, [createRootUnit(a)]);
      await store.append(owner, [createUnit(a, { facts: createFacts(a, 2, 4) })]);
      const facts = await store.facts({});
      const { newest } = await store.cursor();
      expect(newest).toBe(facts.at(-1)?.position);
      expect((await store.cursor(newest)).behind).toBe(0);
      expect((await store.cursor(facts[0]?.position)).behind).toBeGreaterThanOrEqual(3);
      for (const unknown of ['', 'nonsense', '-1', '1e99', `${newest}0`]) expect((await store.cursor(unknown)).behind).toBeNull();
    });

    it('finds facts by their text, newest first, up to a limit', async () => {
      const { store, owner } = getContext();
      const say = (seq: number, text: string) => {
        const [fact] = createFacts(a, seq);
        const data = { from: 'parent', text };
        return { ...fact, data, text: JSON.stringify(data) } as ReturnType<typeof createFacts>[number];
      };
      await store.append(owner, [createUnit(a, { facts: [say(1, 'Needle one'), say(2, 'nothing')], rows: [createRow(a)] })]);
      await store.append(owner, [createUnit(a, { facts: [say(3, 'a "quoted"\nneedle'), say(4, '100% _sure_ \\ of it')] })]);
      const find = async (text: string, limit = 10) => (await store.search(text, { limit })).map(({ seq }) => seq);
      expect(await find('needle')).toEqual([3, 1]);
      expect(await find('needle', 1)).toEqual([3]);
      expect(await find('"quoted"\nneedle')).toEqual([3]);
      expect(await find('0% _sure')).toEqual([4]);
      expect(await find('% _')).toEqual([4]);
      expect(await find('\\ of')).toEqual([4]);
      expect(await find('n_edle')).toEqual([]);
      expect(await store.search('needle', { limit: 10, signal: AbortSignal.abort() })).toEqual([]);
    });

    it('finds text in thousands of facts', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await store.append(owner, [createUnit(a, { facts: createFacts(a, 2, 3_000) })]);
      expect((await store.search(`${a} 17`, { limit: 2_000 })).map(({ seq }) => seq)).toEqual(
        [17, ...range(170, 179), ...range(1700, 1799)].reverse(),
      );
    });

    it('lists runs created before another one', async () => {
      const { store, owner } = getContext();
      for (const id of [a, b, c]) await store.append(owner, [createRootUnit(id)]);
      expect(await readRunIds(store, { before: c })).toEqual([b, a]);
      expect(await readRunIds(store, { before: c, roots: true, limit: 1 })).toEqual([b]);
      expect(await readRunIds(store, { before: a })).toEqual([]);
    });

    it('passes live pieces to the stores of other processes, and to them alone', async () => {
      const { harness, store } = getContext();
      const other = await harness.open();
      const got: Delta[] = [];
      const own: Delta[] = [];
      const end = other.subscribe((each) => void got.push(each));
      const endOwn = store.subscribe((each) => void own.push(each));
      await expect
        .poll(() => {
          store.publish(delta);
          return got.length;
        })
        .toBeGreaterThan(0);
      expect(got[0]).toEqual(delta);
      expect(own).toEqual([]);
      end();
      const before = got.length;
      store.publish(delta);
      await other.facts({});
      expect(got.length).toBe(before);
      endOwn();
    });

    it('gets live pieces of a process that registers later', async () => {
      const { harness, store } = getContext();
      const got: Delta[] = [];
      const end = store.subscribe((each) => void got.push(each));
      const other = await harness.open();
      const owner = await other.open();
      await expect
        .poll(() => {
          other.publish(delta);
          return got.length;
        })
        .toBeGreaterThan(0);
      end();
      await other.release(owner);
    });
  });
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
