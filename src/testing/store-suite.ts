// The conformance suite of the store port, run on each adapter: every sentence of ports/store.ts has a test here.
// It is one list of promises, so it stays in one file although it is long.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isRetinueError } from '../contract/error.ts';
import type { StoredFact } from '../contract/fact.ts';
import type { Order } from '../contract/order.ts';
import type { RunRow } from '../contract/run.ts';
import type { Owner, Store, TreeAppend, WrittenFact } from '../ports/store.ts';

/** One set of data and the ways to it. */
export interface StoreHarness {
  /** Another opening of the same data, as another process would make it. */
  open(): Promise<Store>;
  /** Makes the owner look as if its process had been killed. */
  kill(owner: Owner): Promise<void>;
  /** Makes the owner look as if it had sent no heartbeat for longer than a lease lasts. */
  silence(owner: Owner): Promise<void>;
  /** Closes what was opened and removes the data. */
  dispose(): Promise<void>;
}

const at = '2026-01-02T03:04:05.678Z';
const id = (n: number) => n.toString(16).padStart(16, '0');
const hash = (n: number) => n.toString(16).padStart(64, '0');

function facts(runId: string, from: number, to = from): WrittenFact[] {
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const data = { from: 'parent', text: `${runId} ${from + index}` };
    const head = { runId, seq: from + index, at, v: 1, type: 'message.received' as const };
    return { ...head, data, hash: hash(from + index), text: JSON.stringify(data) };
  });
}

function row(runId: string, rest: Partial<RunRow> = {}): RunRow {
  const who = { runId, parentId: null, rootId: runId, depth: 0, kind: 'agent', label: null, agent: 'general', model: null } as const;
  const now = { status: 'running', activity: null, turns: 0, costUsd: null, createdAt: at, startedAt: at, endedAt: null } as const;
  return {
    ...who,
    ...now,
    ...{ tokens: { input: 1, output: 2, cached: 0, reasoning: 0 }, idempotencyKey: null, lastSeq: 1, lastHash: hash(1) },
    ...rest,
  };
}

function unit(rootId: string, rest: Partial<TreeAppend> = {}): TreeAppend {
  return { rootId, facts: [], rows: [], blobs: [], consumed: [], ...rest };
}

/** A new root with one fact and its row. */
function created(runId: string, rest: Partial<RunRow> = {}): TreeAppend {
  return unit(runId, { facts: facts(runId, 1), rows: [row(runId, rest)] });
}

function order(n: number, rootId: string): Order {
  return { id: `order-${n}`, runId: rootId, rootId, kind: 'message', text: `text ${n}`, at };
}

const good = { ok: true };
const fenced = { ok: false, reason: 'fenced' };
const conflict = { ok: false, reason: 'conflict' };
const [a, b, c] = [id(10), id(11), id(12)];

export function storeSuite(name: string, make: () => Promise<StoreHarness>): void {
  describe(name, () => {
    let harness: StoreHarness;
    let store: Store;
    let owner: Owner;
    beforeEach(async () => {
      harness = await make();
      store = await harness.open();
      owner = await store.open();
    });
    afterEach(() => harness.dispose());

    const seqs = async (runId: string) => (await store.facts({ runId })).map(({ seq }) => seq);
    const ids = async (query: Parameters<Store['runs']>[0]) => (await store.runs(query)).map(({ runId }) => runId);

    describe('append', () => {
      it('keeps facts byte for byte, rows, blobs, and takes consumed orders away', async () => {
        await store.append(owner, [created(a)]);
        await store.order(order(1, a));
        const [given] = facts(a, 2) as [WrittenFact];
        const odd = {
          ...given,
          data: { from: 'x', text: 'é\u0000\u2028"\\' },
          text: '{"from":"x","text":"é\\u0000\u2028\\"\\\\"}',
        } as WrittenFact;
        const blob = { hash: hash(7), text: 'a blob\u0000 with 🧵' };
        const next = row(a, { lastSeq: 2, label: 'second' });
        expect(await store.append(owner, [unit(a, { facts: [odd], rows: [next], blobs: [blob], consumed: ['order-1'] })])).toEqual([good]);
        const [, read] = await store.facts({ runId: a });
        const { text: _, ...fact } = odd;
        expect(read).toEqual({ ...fact, position: expect.any(String) });
        expect(await store.run(a)).toEqual(next);
        expect(await store.blob(blob.hash)).toBe(blob.text);
        expect(await store.orders(owner)).toEqual([]);
      });

      it('refuses a fact that is there already, and one that leaves a gap, with all of its unit', async () => {
        await store.append(owner, [unit(a, { facts: facts(a, 1, 3), rows: [row(a)] })]);
        const blobs = [{ hash: hash(1), text: 'x' }];
        expect(await store.append(owner, [unit(a, { facts: facts(a, 3), rows: [row(a, { label: 'no' })], blobs })])).toEqual([conflict]);
        expect(await store.append(owner, [unit(a, { facts: [...facts(a, 4), ...facts(b, 2)] })])).toEqual([conflict]);
        expect(await store.append(owner, [unit(a, { facts: [...facts(a, 4), ...facts(a, 6)] })])).toEqual([conflict]);
        expect(await store.append(owner, [unit(c, { facts: facts(c, 2) })])).toEqual([conflict]);
        expect(await seqs(a)).toEqual([1, 2, 3]);
        expect((await store.run(a))?.label).toBeNull();
        expect(await store.blob(hash(1))).toBeNull();
        expect(await store.append(owner, [unit(a, { facts: facts(a, 4) })])).toEqual([good]);
      });

      it('leaves the other units of a batch in, and later units see earlier ones', async () => {
        await store.append(owner, [created(b)]);
        const units = [created(a), created(b), unit(a, { facts: facts(a, 2) }), created(c)];
        expect(await store.append(owner, units)).toEqual([good, conflict, good, good]);
        expect(await seqs(a)).toEqual([1, 2]);
        expect(await seqs(c)).toEqual([1]);
      });

      it('refuses a second run with the same parent and idempotency key', async () => {
        const keyed = { idempotencyKey: 'k' };
        expect(await store.append(owner, [created(a, keyed), created(b, keyed)])).toEqual([good, conflict]);
        const children = [row(b, { parentId: a, rootId: a, ...keyed }), row(c, { parentId: a, rootId: a, ...keyed })];
        expect(await store.append(owner, [unit(a, { rows: children })])).toEqual([conflict]);
        expect(await store.append(owner, [unit(a, { rows: children.slice(1) })])).toEqual([good]);
        expect(await store.append(owner, [unit(a, { rows: [row(a, { ...keyed, turns: 5 })] })])).toEqual([good]);
        expect((await store.runByKey(null, 'k'))?.runId).toBe(a);
        expect((await store.runByKey(a, 'k'))?.runId).toBe(c);
        expect(await store.runByKey(null, 'other')).toBeNull();
        expect(await store.run(b)).toBeNull();
      });

      it('refuses facts and rows of a run of another tree', async () => {
        await store.append(owner, [created(a), created(b)]);
        expect(await store.append(owner, [unit(a, { facts: facts(b, 2) })])).toEqual([fenced]);
        expect(await store.append(owner, [unit(a, { rows: [row(b, { rootId: a })] })])).toEqual([fenced]);
      });

      it('does not change what was stored when the caller changes its objects', async () => {
        const given = created(a);
        await store.append(owner, [given]);
        (given.rows[0] as RunRow).tokens.input = 99;
        ((await store.run(a)) as RunRow).tokens.output = 99;
        expect((await store.run(a))?.tokens).toEqual({ input: 1, output: 2, cached: 0, reasoning: 0 });
      });
    });

    describe('reading', () => {
      beforeEach(async () => {
        const child = row(b, { parentId: a, rootId: a, depth: 1 });
        await store.append(owner, [unit(a, { facts: [...facts(a, 1), ...facts(b, 1)], rows: [row(a), child] })]);
        await store.append(owner, [created(c, { status: 'completed' }), unit(a, { facts: [...facts(b, 2), ...facts(a, 2)] })]);
      });

      it('gives facts in the order of the store: of a run, of a tree, of all', async () => {
        const names = async (query: Parameters<Store['facts']>[0]) => (await store.facts(query)).map(({ runId, seq }) => `${runId}/${seq}`);
        expect(await names({ runId: b })).toEqual([`${b}/1`, `${b}/2`]);
        expect(await names({ rootId: a })).toEqual([`${a}/1`, `${b}/1`, `${b}/2`, `${a}/2`]);
        expect(await names({})).toEqual([`${a}/1`, `${b}/1`, `${c}/1`, `${b}/2`, `${a}/2`]);
        expect(await names({ rootId: a, runId: c })).toEqual([]);
        expect(await names({ runId: id(99) })).toEqual([]);
      });

      it('goes on after a position, up to a limit, with the types asked for', async () => {
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

      it('gives runs by tree, parent, state and the beginning of their id, newest first unless said', async () => {
        expect(await ids({})).toEqual([c, b, a]);
        expect(await ids({ order: 'oldest' })).toEqual([a, b, c]);
        expect(await ids({ limit: 1 })).toEqual([c]);
        expect(await ids({ rootId: a })).toEqual([b, a]);
        expect(await ids({ parentId: a })).toEqual([b]);
        expect(await ids({ live: true, order: 'oldest' })).toEqual([a, b]);
        expect(await ids({ live: false })).toEqual([c]);
        expect(await ids({ roots: true })).toEqual([c, a]);
        expect(await ids({ prefix: a.slice(0, 15) })).toEqual([c, b, a]);
        expect(await ids({ prefix: b })).toEqual([b]);
        expect(await ids({ prefix: 'f' })).toEqual([]);
        expect(await ids({ prefix: '', live: true, roots: true })).toEqual([a]);
        await store.append(owner, [unit(a, { rows: [row(b, { parentId: a, rootId: a, status: 'failed' })] })]);
        expect(await ids({ live: true })).toEqual([a]);
      });

      it('gives null for what is not there', async () => {
        expect(await store.run(id(99))).toBeNull();
        expect(await store.blob(hash(99))).toBeNull();
      });

      it('shows what another process has written', async () => {
        const other = await harness.open();
        expect(await other.facts({})).toEqual(await store.facts({}));
        expect(await other.runs({})).toEqual(await store.runs({}));
      });
    });

    describe('orders', () => {
      it('gives an owner the orders of its trees only, oldest first, until they are consumed or dropped', async () => {
        const other = await harness.open();
        const stranger = await other.open();
        await store.append(owner, [created(a)]);
        await other.append(stranger, [created(b)]);
        for (const given of [order(1, a), order(2, b), order(3, a), order(4, c), order(3, a)]) await other.order(given);
        expect(await store.orders(owner)).toEqual([order(1, a), order(3, a)]);
        await store.append(owner, [unit(a, { facts: facts(a, 2), consumed: ['order-1', 'order-2'] })]);
        await store.dropOrders(owner, ['order-2', 'order-3', 'order-none']);
        expect(await store.orders(owner)).toEqual([]);
        expect(await other.orders(stranger)).toEqual([order(2, b)]);
        await store.claim(owner, c);
        expect(await store.orders(owner)).toEqual([order(4, c)]);
      });

      it('keeps an order whose unit was refused', async () => {
        await store.append(owner, [created(a)]);
        await store.order(order(1, a));
        expect(await store.append(owner, [unit(a, { facts: facts(a, 9), consumed: ['order-1'] })])).toEqual([conflict]);
        expect(await store.orders(owner)).toEqual([order(1, a)]);
      });

      it('wakes the owner, whether the order comes from its own process or another', async () => {
        await store.append(owner, [created(a)]);
        const other = await harness.open();
        for (const [n, from] of [store, other].entries()) {
          const woken = Promise.withResolvers<void>();
          const end = store.watch(woken.resolve);
          await from.order(order(n, a));
          await woken.promise;
          end();
          expect(await store.orders(owner)).toHaveLength(n + 1);
        }
      });

      it('tells watchers of facts that another process wrote, until they end it', async () => {
        const other = await harness.open();
        const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        let calls = 0;
        const end = other.watch(() => calls++);
        const endFirst = other.watch(first.resolve);
        await store.append(owner, [created(a)]);
        await first.promise;
        end();
        endFirst();
        const before = calls;
        other.watch(second.resolve);
        await store.append(owner, [created(b)]);
        await second.promise;
        expect(calls).toBe(before);
      });
    });

    describe('leases', () => {
      it('refuses a tree whose owner is living, to claim or to write', async () => {
        await store.append(owner, [created(a)]);
        const other = await harness.open();
        const stranger = await other.open();
        expect(await other.claim(stranger, a)).toEqual({ ok: false, owner: owner.id, pid: process.pid });
        expect(await other.append(stranger, [unit(a, { facts: facts(a, 2) }), created(b)])).toEqual([fenced, good]);
        expect(await store.append(owner, [unit(a, { facts: facts(a, 2) })])).toEqual([good]);
      });

      it('gives a new tree, an own tree and a released tree', async () => {
        const other = await harness.open();
        const stranger = await other.open();
        expect(await store.claim(owner, a)).toEqual({ ok: true, previous: null });
        expect(await store.claim(owner, a)).toEqual({ ok: true, previous: null });
        expect(await other.append(stranger, [created(a)])).toEqual([fenced]);
        await store.release(owner);
        expect(await store.append(owner, [created(b)])).toEqual([fenced]);
        expect(await other.append(stranger, [created(a)])).toEqual([fenced]);
        expect(await other.claim(stranger, a)).toEqual({ ok: true, previous: null });
        expect(await other.append(stranger, [created(a)])).toEqual([good]);
      });

      it.each(['kill', 'silence'] as const)('takes over after %s, and the previous owner is fenced with all its trees', async (end) => {
        await store.append(owner, [created(a), created(b)]);
        await store.order(order(1, b));
        await harness[end](owner);
        const other = await harness.open();
        const heir = await other.open();
        expect(await other.holders([a])).toEqual(new Map([[a, { pid: expect.any(Number), alive: false }]]));
        expect(await other.claim(heir, a)).toEqual({ ok: true, previous: owner.id });
        expect(await store.append(owner, [unit(a, { facts: facts(a, 2) }), unit(b, { facts: facts(b, 2) })])).toEqual([fenced, fenced]);
        expect(await store.append(owner, [created(c)])).toEqual([fenced]);
        await expect(store.orders(owner)).rejects.toMatchObject({ code: 'fenced' });
        await store.dropOrders(owner, ['order-1']);
        await expect(store.claim(owner, c)).rejects.toMatchObject({ code: 'fenced' });
        expect(await other.append(heir, [unit(a, { facts: facts(a, 2) })])).toEqual([good]);
        expect(await other.claim(heir, b)).toEqual({ ok: true, previous: owner.id });
        expect(await other.orders(heir)).toEqual([order(1, b)]);
        const again = await store.open();
        expect(await store.append(again, [created(c)])).toEqual([good]);
      });

      it('says who holds which tree', async () => {
        const other = await harness.open();
        await store.append(owner, [created(a)]);
        const held = { pid: process.pid, alive: true };
        expect(await other.holders([a, b])).toEqual(
          new Map<string, unknown>([
            [a, held],
            [b, null],
          ]),
        );
        await store.release(owner);
        expect(await other.holders([a])).toEqual(new Map([[a, null]]));
      });

      it('ends the leases of a store that is closed', async () => {
        await store.append(owner, [created(a)]);
        await store.close();
        const other = await harness.open();
        expect(await other.claim(await other.open(), a)).toEqual({ ok: true, previous: null });
      });
    });

    describe('erasing', () => {
      const text = (n: number) => ({ hash: hash(n), text: `text ${n}` });
      const ended = { status: 'completed', label: 'secret', idempotencyKey: 'k', activity: 'read' } as const;
      beforeEach(async () => {
        const child = row(b, { parentId: a, rootId: a, depth: 1, status: 'failed' });
        const tree = { facts: [...facts(a, 1), ...facts(b, 1), ...facts(a, 2)], rows: [row(a, { ...ended, lastSeq: 2 }), child] };
        await store.append(owner, [unit(a, { ...tree, blobs: [text(1), text(2)] })]);
        await store.append(owner, [{ ...created(c, { status: 'completed' }), blobs: [text(2), text(3)] }]);
      });

      it('takes data, labels, keys, orders and texts away, and keeps what the chain is made of', async () => {
        await store.order(order(1, a));
        const before = await store.trail(a);
        const weight = await store.weigh([a]);
        expect(weight).toEqual({ facts: 3, bytes: (await texts([a, b])) + 'text 1'.length });
        expect(await store.erase(a, at)).toEqual({ ok: true, ...weight });
        expect(await store.facts({ rootId: a })).toEqual([]);
        expect(await store.facts({ types: ['message.received'] })).toEqual(await store.facts({ runId: c }));
        const { data: _, ...head } = before[0] as StoredFact;
        expect(await store.trail(a)).toEqual([{ ...head, erased: true }, expect.objectContaining({ seq: 2, erased: true })]);
        expect(await store.trail(b)).toHaveLength(1);
        expect(await store.run(a)).toEqual({
          ...row(a, { ...ended, lastSeq: 2 }),
          activity: null,
          label: null,
          idempotencyKey: null,
          erasedAt: at,
        });
        expect(await ids({ rootId: a })).toEqual([b, a]);
        expect(await store.runByKey(null, 'k')).toBeNull();
        expect(await store.orders(owner)).toEqual([]);
        expect([await store.blob(hash(1)), await store.blob(hash(2)), await store.blob(hash(3))]).toEqual([null, 'text 2', 'text 3']);
        await store.reclaim();
        expect(await (await harness.open()).trail(a)).toEqual(await store.trail(a));
      });

      it('takes a shared text away with the last tree that has it, and a later one can bring it again', async () => {
        expect((await store.weigh([a, c])).bytes).toBe((await texts([a, b, c])) + 3 * 'text 1'.length);
        await store.erase(a, at);
        await store.erase(c, at);
        expect(await store.blob(hash(2))).toBeNull();
        expect(await store.append(owner, [{ ...created(id(13)), blobs: [text(2)] }])).toEqual([good]);
        expect(await store.blob(hash(2))).toBe('text 2');
        expect(await store.append(owner, [created(id(14), { idempotencyKey: 'k' })])).toEqual([good]);
      });

      it('is nothing the second time, and keeps the first moment', async () => {
        await store.erase(a, at);
        expect(await store.erase(a, '2027-01-01T00:00:00.000Z')).toEqual({ ok: true, facts: 0, bytes: 0 });
        expect((await store.run(b))?.erasedAt).toBe(at);
        expect(await store.weigh([a])).toEqual({ facts: 0, bytes: 0 });
      });

      it('refuses a tree with a live run, and one that is not there', async () => {
        await store.append(owner, [unit(c, { facts: facts(id(15), 1), rows: [row(id(15), { parentId: c, rootId: c })] })]);
        expect(await store.erase(c, at)).toEqual({ ok: false, reason: 'live' });
        expect(await store.erase(id(99), at)).toEqual({ ok: false, reason: 'unknown' });
        expect(await store.facts({ rootId: c })).toHaveLength(2);
        expect(await store.blob(hash(3))).toBe('text 3');
        expect(await store.weigh([id(99)])).toEqual({ facts: 0, bytes: 0 });
        expect(await store.trail(id(99))).toEqual([]);
      });

      const texts = async (runIds: string[]) => {
        const found = (await Promise.all(runIds.map((runId) => store.facts({ runId })))).flat();
        return found.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0);
      };
    });

    it('rejects every call after it was closed, and closing again is no error', async () => {
      await store.close();
      await store.close();
      const calls: (() => Promise<unknown>)[] = [
        () => store.append(owner, [created(a)]),
        () => store.facts({}),
        () => store.trail(a),
        () => store.erase(a, at),
        () => store.weigh([a]),
        () => store.reclaim(),
        () => store.run(a),
        () => store.runs({}),
        () => store.runByKey(null, 'k'),
        () => store.blob(hash(1)),
        () => store.order(order(1, a)),
        () => store.orders(owner),
        () => store.dropOrders(owner, []),
        () => store.open(),
        () => store.release(owner),
        () => store.claim(owner, a),
        () => store.holders([a]),
      ];
      for (const call of calls)
        await expect(call()).rejects.toMatchObject({ code: 'store_io', message: expect.stringContaining('closed') });
      expect(() => store.watch(() => {})).toThrow('closed');
    });
  });
}
