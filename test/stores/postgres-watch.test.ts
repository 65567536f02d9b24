// Wake-ups, polls and live pieces in PostgreSQL, and what they cost.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Delta } from '../../src/contract/delta.ts';
import { channelName } from '../../src/stores/postgres/session.ts';
import { createOrder } from '../../src/testing/store-suite/fixtures.ts';
import { testAuthenticator } from './support/authenticator.ts';
import { createPlace, useProxy } from './support/postgres.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
const never = 3_600_000;
const patient = { timeout: 30_000 };

/** Counts the statements with this name that a store sends. The name is in the message that starts one. */
function countStatements(proxy: Awaited<ReturnType<typeof useProxy>>): (name: string) => number {
  const sent: string[] = [];
  proxy.onData = (direction, data) => {
    if (direction === 'to server') sent.push(data.toString('latin1'));
    return 'pass';
  };
  // A bind message: `B`, its length, the name of the portal, which is empty, and the name of the statement.
  return (name) => sent.join('').split(`\0${name}\0`).length - 1;
}

describe('orders', () => {
  it('are found by the poll if their notification was lost', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    await store.append(owner, [createUnit(root, root, 1)]);
    const order = createOrder(1, root);
    let wakeUps = 0;
    store.watch(() => wakeUps++, 'orders');
    const values = [order.id, root, JSON.stringify(order), testAuthenticator.sign(order)];
    await place.sql('INSERT INTO $s.orders (id, root, text, tag) VALUES ($1, $2, $3, $4)', values);
    await expect.poll(() => wakeUps, patient).toBeGreaterThan(0);
    expect(await store.orders(owner)).toEqual([order]);
  });

  it('wake the owner by a notification, without any poll', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner({ timing: { heartbeat: never, factPoll: never, restartGrace: 0 } });
    const other = await place.open();
    await store.append(owner, [createUnit(root, root, 1)]);
    let wakeUps = 0;
    store.watch(() => wakeUps++, 'orders');
    await other.order(createOrder(1, root));
    await expect.poll(() => wakeUps, patient).toBe(1);
    // An order to another process is none of its business.
    const stranger = await other.open();
    await other.append(stranger, [createUnit(createRunId(2), createRunId(2), 1)]);
    await other.order(createOrder(2, createRunId(2)));
    await other.order(createOrder(3, root));
    await expect.poll(() => wakeUps, patient).toBe(2);
  });

  it('a takeover wakes the previous owner, too', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner({ timing: { heartbeat: never, restartGrace: 0 } });
    await store.append(owner, [createUnit(root, root, 1)]);
    const woken = Promise.withResolvers<void>();
    store.watch(woken.resolve, 'orders');
    await place.sql("UPDATE $s.owners SET beat = beat - interval '1 minute'");
    const { store: other, owner: successor } = await place.openOwner();
    expect(await other.claim(successor, root)).toEqual({ ok: true, previous: owner.id });
    await woken.promise;
    expect((await store.holders([root])).get(root)).toMatchObject({ owner: successor.id, alive: true });
  });

  it('a takeover whose notification was lost is found by the poll', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner({ timing: { heartbeat: 200, restartGrace: 0 } });
    await store.append(owner, [createUnit(root, root, 1)]);
    await place.sql("UPDATE $s.trees SET owner = 'somebody', fence = fence + 1");
    const woken = Promise.withResolvers<void>();
    store.watch(woken.resolve, 'orders');
    await woken.promise;
  });
});

describe('what a process that only waits asks the server', () => {
  it('is at most two statements a second, and none for facts unless somebody watches them', async () => {
    const place = await createPlace();
    const proxy = await useProxy(place.url);
    const { store, owner } = await place.openOwner({ url: proxy.url });
    await store.append(owner, [createUnit(root, root, 1)]);
    store.watch(() => {}, 'orders');
    const count = countStatements(proxy);
    const startedAt = performance.now();
    await expect.poll(() => count('heartbeat'), patient).toBeGreaterThanOrEqual(2);
    const seconds = (performance.now() - startedAt) / 1000;
    const statements = ['heartbeat', 'poll', 'poll-facts', 'notify', 'orders'].map(count).reduce((sum, n) => sum + n);
    expect(statements).toBeLessThanOrEqual(Math.ceil(2 * seconds));
    expect([count('poll-facts'), count('notify')]).toEqual([0, 0]);
    const end = store.watch(() => {});
    await expect.poll(() => count('poll-facts'), patient).toBeGreaterThanOrEqual(2);
    end();
  });
});

describe('live pieces', () => {
  const delta = (text: string): Delta => ({ type: 'delta', runId: root, turn: 1, kind: 'text', text });

  it('are sent only while somebody subscribes, many at once, in order and complete', async () => {
    const place = await createPlace();
    const proxy = await useProxy(place.url);
    const timing = { announce: 300, restartGrace: 0 };
    const { store, owner } = await place.openOwner({ url: proxy.url, timing });
    const reader = await place.open({ timing });
    const count = countStatements(proxy);
    for (let n = 0; n < 100; n++) store.publish(delta('nobody hears this'));
    await store.append(owner, [createUnit(root, root, 1)]);
    const got: Delta[] = [];
    let changes = 0;
    const end = reader.subscribe((each) => got.push(each));
    const endWatch = reader.watch(() => changes++);
    await expect.poll(() => store.publish(delta('first')) ?? got.length, patient).toBeGreaterThan(0);
    expect(new Set(got.map(({ text }) => text))).toEqual(new Set(['first']));
    await store.append(owner, [createUnit(root, root, 2)]);
    await expect.poll(() => changes, patient).toBeGreaterThan(0);

    const [sentBefore, gotBefore] = [count('notify'), got.length];
    // All of them wait for the same moment, and none is lost though the texts are equal.
    for (let n = 0; n < 2_000; n++) store.publish(delta('ha'));
    const long = `${'🧵 ünï "quoted" \n'.repeat(2_000)}end`;
    store.publish(delta(long));
    store.publish(delta('last'));
    await expect.poll(() => got.at(-1)?.text, patient).toBe('last');
    const texts = got.slice(gotBefore).map(({ text }) => text);
    expect(texts.filter((text) => text === 'ha')).toHaveLength(2_000);
    expect(texts.filter((text) => text !== 'ha' && text !== 'first' && text !== 'last').join('')).toBe(long);
    expect(count('notify') - sentBefore).toBeLessThan(10);

    end();
    endWatch();
    // After two and a half announcements the publisher knows that nobody is there.
    await expect
      .poll(async () => {
        const before = count('notify');
        store.publish(delta('nobody'));
        await sleep(150);
        return count('notify') - before;
      }, patient)
      .toBe(0);
  });

  it('of somebody else’s making are ignored', async () => {
    const place = await createPlace();
    const { store } = await place.openOwner();
    const got: unknown[] = [];
    const end = store.subscribe((each) => got.push(each));
    const channel = channelName('live', place.schema);
    const notify = (payload: string) => place.sql('SELECT pg_notify($1, $2)', [channel, payload]);
    for (const payload of [
      '',
      'x',
      '{}',
      '[]',
      'null',
      '{"from":1}',
      '{"from":"x","deltas":7}',
      '{"from":"x","deltas":[null,{"type":"delta"}]}',
    ])
      await notify(payload);
    await notify(JSON.stringify({ from: 'x', n: 1, deltas: [delta('good')] }));
    await expect.poll(() => got.length, patient).toBe(1);
    expect(got).toEqual([delta('good')]);
    end();
  });
});
