// What happens to calls when connections break: nothing is lost, nothing is written twice, and what was written is never reported as failed.
import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { createOrder } from '../../src/testing/store-suite/fixtures.ts';
import type { Direction, ServerProxy } from '../support/postgres/proxy.ts';
import { createPlace, useProxy } from './support/postgres.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
const accepted = [{ ok: true }];

async function readSeqs(store: Store): Promise<number[]> {
  return (await store.trail(root)).map(({ seq }) => seq);
}

/** Loses the answer to the next commit, which the server has carried out. */
function loseCommits(proxy: ServerProxy): { arm(): void; count(): number } {
  let isArmed = true;
  let count = 0;
  proxy.onData = (direction, data) => {
    if (!isArmed || direction === 'to server' || !data.includes('COMMIT')) return 'pass';
    isArmed = false;
    count++;
    return 'cut';
  };
  return {
    arm() {
      isArmed = true;
    },
    count: () => count,
  };
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('a connection that is cut', () => {
  it.each(['to server', 'to client'] as const)('%s, before or after any piece of data of an append', async (direction) => {
    const place = await createPlace();
    const reader = await place.open();
    const proxy = await useProxy(place.url);
    const { store, owner } = await place.openOwner({ url: proxy.url });
    await store.append(owner, [createUnit(root, root, 1)]);
    let seq = 1;
    let cuts = 0;
    // An append is two pieces each way. Later pieces belong to its retry, so each case ends with the last one that was cut.
    for (const verdict of ['cut', 'pass then cut'] as const) {
      for (let piece = 1; piece <= 4; piece++) {
        let seen = 0;
        let wasCut = false;
        proxy.onData = (each: Direction, data) => {
          // Heartbeats have a connection of their own, and may come at any time.
          if (each !== direction || wasCut || data.includes('heartbeat') || data.includes('poll')) return 'pass';
          if (++seen < piece) return 'pass';
          wasCut = true;
          cuts++;
          return verdict;
        };
        seq++;
        expect(await store.append(owner, [createUnit(root, root, seq)]), `${verdict} piece ${piece}`).toEqual(accepted);
        proxy.onData = () => 'pass';
        expect(await readSeqs(reader)).toEqual(upTo(seq));
      }
    }
    expect(cuts).toBeGreaterThanOrEqual(4);
    expect(await reader.findFaults()).toEqual([]);
  });

  it('after a commit whose answer was lost, an append finds out that it was written', async () => {
    const place = await createPlace();
    const proxy = await useProxy(place.url);
    const { store, owner } = await place.openOwner({ url: proxy.url });
    await store.append(owner, [createUnit(root, root, 1)]);
    const losses = loseCommits(proxy);
    expect(await store.append(owner, [createUnit(root, root, 2), createUnit(createRunId(2), createRunId(2), 1)])).toEqual([
      ...accepted,
      ...accepted,
    ]);
    expect(losses.count()).toBe(1);
    expect(await store.append(owner, [createUnit(root, root, 3)])).toEqual(accepted);
    expect(await readSeqs(store)).toEqual([1, 2, 3]);
    // An append without facts is simply repeated.
    losses.arm();
    const { rows } = createUnit(root, root, 3);
    expect(
      await store.append(owner, [{ rootId: root, facts: [], rows: rows.map((row) => ({ ...row, turns: 7 })), blobs: [], consumed: [] }]),
    ).toEqual(accepted);
    expect([(await store.run(root))?.turns, losses.count()]).toEqual([7, 2]);
  });

  it('while the server still works on a commit, an append waits for its result', async () => {
    const place = await createPlace();
    const proxy = await useProxy(place.url);
    const { store, owner } = await place.openOwner({ url: proxy.url });
    await store.append(owner, [createUnit(root, root, 1)]);
    // The blob makes the transaction wait inside the server, after the commit was sent.
    const lock = await place.lockTable('blobs', 'EXCLUSIVE');
    const unit = { ...createUnit(root, root, 2), blobs: [{ hash: 'b'.repeat(64), content: 'x' }] };
    const appended = store.append(owner, [unit]);
    await place.untilWaiting("relation = '$s.blobs'::regclass");
    proxy.cutAll();
    // The second attempt waits for the lock of the tree, which the first one still has.
    await place.untilWaiting("locktype = 'advisory'");
    await lock.release();
    expect(await appended).toEqual(accepted);
    expect(await readSeqs(store)).toEqual([1, 2]);
  });

  it('does not lose or repeat claims, orders, dropped orders and erasures', async () => {
    const place = await createPlace();
    const proxy = await useProxy(place.url);
    const { store, owner } = await place.openOwner({ url: proxy.url });
    const losses = loseCommits(proxy);
    expect(await store.claim(owner, root)).toEqual({ ok: true, previous: null });
    expect(await store.append(owner, [createUnit(root, root, 1)])).toEqual(accepted);
    losses.arm();
    await store.order(createOrder(1, root));
    expect(await store.orders(owner)).toEqual([createOrder(1, root)]);
    losses.arm();
    await store.dropOrders(owner, ['order-1']);
    expect(await store.orders(owner)).toEqual([]);
    const unit = createUnit(root, root, 2);
    unit.rows = unit.rows.map((row) => ({ ...row, status: 'completed' }));
    expect(await store.append(owner, [unit])).toEqual(accepted);
    losses.arm();
    expect(await store.erase(root, '2026-01-02T03:04:05.678Z')).toMatchObject({ ok: true, facts: 2 });
    expect(losses.count()).toBe(4);
    await store.release(owner);
    // The tags cover all of it: another process may go on.
    const { store: other, owner: successor } = await place.openOwner();
    expect(await other.claim(successor, root)).toEqual({ ok: true, previous: null });
    expect(await other.findFaults()).toEqual([]);
  });
});

it('survives that its connections are ended again and again while it works', async () => {
  const place = await createPlace();
  const application = `test-${place.schema}`;
  const url = `${place.url}?application_name=${application}`;
  const { store, owner } = await place.openOwner({ url });
  const reader = await place.open({ url });
  let isDone = false;
  const killing = (async () => {
    let ended = 0;
    while (!isDone)
      ended += (await place.sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [application]))
        .length;
    return ended;
  })();
  for (let seq = 1; seq <= 40; seq++) {
    expect(await store.append(owner, [createUnit(root, root, seq)])).toEqual(accepted);
    expect((await reader.run(root))?.lastSeq).toBe(seq);
  }
  isDone = true;
  expect(await killing).toBeGreaterThan(5);
  expect(await readSeqs(store)).toEqual(upTo(40));
  expect(await store.findFaults()).toEqual([]);
});

it('gives up with store_io, without the password in the message', async () => {
  const place = await createPlace();
  const proxy = await useProxy(place.url);
  const { store, owner } = await place.openOwner({ url: proxy.url, timing: { giveUp: 2_000 } });
  proxy.isDown = true;
  proxy.cutAll();
  const error = await store.append(owner, [createUnit(root, root, 1)]).catch((reason: unknown) => reason as Error & { code: string });
  expect(error).toMatchObject({ code: 'store_io', retryable: true, message: expect.stringMatching(/Check that the server runs/) });
  expect(String(error)).not.toContain('p@ss');
  await expect(store.run(root)).rejects.toMatchObject({ code: 'store_io' });
  proxy.isDown = false;
  expect(await store.append(owner, [createUnit(root, root, 1)])).toEqual(accepted);
});

it('waits for a free connection, and reports store_busy if there is none for long', async () => {
  const place = await createPlace();
  const { store, owner } = await place.openOwner({ poolSize: 1 });
  const results = await Promise.all(upTo(20).map((n) => store.append(owner, [createUnit(createRunId(n), createRunId(n), 1)])));
  expect(results.flat().every(({ ok }) => ok)).toBe(true);
  // A tree that another transaction has locked blocks the only connection, and with it everything else.
  const blocked = await place.open({ poolSize: 1, timing: { connect: 2_000, giveUp: 300 } });
  const lock = await place.lockTable('blobs', 'ACCESS EXCLUSIVE');
  const reading = blocked.blob('0'.repeat(64));
  await expect(blocked.run(root)).rejects.toMatchObject({ code: 'store_busy', retryable: true });
  await lock.release();
  expect(await reading).toBeNull();
});

it('reports store_busy if a tree stays locked', async () => {
  const place = await createPlace();
  const { store, owner } = await place.openOwner({ timing: { lock: 50, giveUp: 2_000 } });
  await store.append(owner, [createUnit(root, root, 1)]);
  const lock = await place.lockTable('runs', 'EXCLUSIVE');
  await expect(store.append(owner, [createUnit(root, root, 2)])).rejects.toMatchObject({ code: 'store_busy' });
  await lock.release();
  expect(await store.append(owner, [createUnit(root, root, 2)])).toEqual(accepted);
});
