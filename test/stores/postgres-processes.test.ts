// Several processes on one PostgreSQL database: takeover, fences, and clocks that differ.
import { afterEach, describe, expect, it } from 'vitest';
import { type Actor, createActors } from './support/actors.ts';
import { createPlace, type StorePlace } from './support/postgres.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
const good = [{ ok: true }];
const fenced = [{ ok: false, reason: 'fenced' }];
const patient = { timeout: 30_000 };
const actors = createActors();
afterEach(() => actors.end());

/** A process that owns the tree of `root`. `shell`: commands that run before it. */
async function startOwner(place: StorePlace, options: object = {}, shell?: string): Promise<Actor> {
  const given = { schema: place.schema, timing: { restartGrace: 0 }, ...options };
  const actor = actors.start(place.url, { options: given, ...(shell === undefined ? {} : { shell }) });
  await actor.call('connect');
  await actor.call('open');
  expect(await actor.call('append', root, root, 1, 1)).toEqual(good);
  return actor;
}

it('16 processes can open a new database and append at the same time: nothing is refused or lost', { timeout: 120_000 }, async () => {
  const place = await createPlace();
  const [processes, runs, appends] = [16, 2, 20];
  const options = { schema: place.schema, poolSize: 2 };
  const writers = Array.from({ length: processes }, () => actors.start(place.url, { options }));
  await Promise.all(writers.map((writer) => writer.call('connect')));
  await Promise.all(writers.map((writer) => writer.call('open')));
  const refused = await Promise.all(writers.map((writer, n) => writer.call('write', 100 * n, runs, appends)));
  expect(refused).toEqual(writers.map(() => 0));
  const store = await place.open();
  const rows = await store.runs({});
  expect(rows).toHaveLength(processes * runs);
  for (const { runId } of rows)
    expect((await store.facts({ runId })).map(({ seq }) => seq)).toEqual(Array.from({ length: 2 * appends }, (_, n) => n + 1));
  // A reader of all trees sees them when no earlier transaction is open, also of other tests on this server.
  await expect.poll(async () => (await store.facts({})).length, { timeout: 30_000 }).toBe(processes * runs * 2 * appends);
});

describe('an owner', () => {
  it('that is killed can be replaced immediately, and its commits are kept', async () => {
    const place = await createPlace();
    const actor = await startOwner(place);
    const { store, owner: successor } = await place.openOwner();
    expect(await store.claim(successor, root)).toMatchObject({ ok: false, pid: actor.pid });
    await actor.signal('SIGKILL');
    expect((await store.holders([root])).get(root)).toMatchObject({ pid: actor.pid, alive: false });
    expect(await store.claim(successor, root)).toMatchObject({ ok: true, previous: expect.any(String) });
    expect(await store.append(successor, [createUnit(root, root, 2)])).toEqual(good);
    expect((await store.facts({ runId: root })).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it('that is stopped loses a tree after missing heartbeats, and keeps the others when it continues', async () => {
    const place = await createPlace();
    const timing = { heartbeat: 100, silence: 1_500, restartGrace: 0 };
    const actor = await startOwner(place, { timing });
    const other = createRunId(3);
    await actor.call('append', other, other, 1, 1);
    const { store, owner: successor } = await place.openOwner({ timing });
    await actor.signal('SIGSTOP');
    await expect.poll(() => store.claim(successor, root), patient).toMatchObject({ ok: true });
    expect(await store.append(successor, [createUnit(root, root, 2)])).toEqual(good);
    await actor.signal('SIGCONT');
    expect(await actor.call('append', root, root, 2, 2)).toEqual(fenced);
    await expect.poll(async () => (await store.holders([other])).get(other), patient).toMatchObject({ pid: actor.pid, alive: true });
    expect(await actor.call('append', other, other, 2, 2)).toEqual(good);
    expect(await actor.call('append', root, root, 3, 3)).toEqual(fenced);
  });

  it('that is stopped in the middle of an append does not keep its trees locked', async () => {
    const place = await createPlace();
    const timing = { heartbeat: 100, silence: 500, idleTransaction: 1_000, restartGrace: 0 };
    const actor = await startOwner(place, { timing });
    const { store, owner: successor } = await place.openOwner({ timing });
    // It waits for the lock of its runs inside a transaction, and is stopped there. Then the server has the lock of the tree for it.
    const lock = await place.lockTable('runs', 'ACCESS EXCLUSIVE');
    const appended = actor.call('append', root, root, 2, 2).catch(() => null);
    await place.untilWaiting("relation = '$s.runs'::regclass");
    await actor.signal('SIGSTOP');
    await lock.release();
    await expect.poll(() => store.claim(successor, root).catch(() => null), { timeout: 40_000 }).toMatchObject({ ok: true });
    const written = (await store.trail(root)).length;
    expect(await store.append(successor, [createUnit(root, root, written + 1)])).toEqual(good);
    await actor.signal('SIGCONT');
    expect(await appended).toEqual(written === 1 ? fenced : good);
  });

  it('in another container or on another machine is judged only by its heartbeat', async () => {
    const place = await createPlace();
    await startOwner(place, { timing: { heartbeat: 3_600_000, restartGrace: 0 } });
    const { store, owner: successor } = await place.openOwner();
    for (const column of ['space', 'boot']) {
      await place.sql(`UPDATE $s.owners SET ${column} = 'other', pid = 99999999, beat = clock_timestamp() WHERE id <> $1`, [successor.id]);
      expect(await store.claim(successor, root)).toMatchObject({ ok: false, pid: 99999999 });
    }
    await place.sql("UPDATE $s.owners SET beat = clock_timestamp() - interval '11 seconds' WHERE id <> $1", [successor.id]);
    expect(await store.claim(successor, root)).toMatchObject({ ok: true });
  });

  it('whose machine has a clock that is five minutes wrong keeps its trees, and others keep theirs', async () => {
    const place = await createPlace();
    for (const [n, minutes] of [5, -5].entries()) {
      const tree = createRunId(10 + n);
      const actor = await startSkewed(place, minutes);
      expect(await actor.call('append', tree, tree, 1, 1)).toEqual(good);
      const { store, owner } = await place.openOwner();
      const own = createRunId(20 + n);
      await store.append(owner, [createUnit(own, own, 1)]);
      expect(await store.claim(owner, tree)).toMatchObject({ ok: false, pid: actor.pid });
      expect(await actor.call('claim', own)).toMatchObject({ ok: false, pid: process.pid });
    }
  });

  it('that is dead and drives nothing is removed when another owner registers', async () => {
    const place = await createPlace();
    const actor = actors.start(place.url, { options: { schema: place.schema } });
    await actor.call('connect');
    await actor.call('open');
    await actor.signal('SIGKILL');
    await place.openOwner();
    expect(await place.sql('SELECT pid FROM $s.owners')).toEqual([{ pid: process.pid }]);
  });
});

/** A process whose own clock is wrong: it is told another time than the machine has. */
async function startSkewed(place: StorePlace, minutes: number): Promise<Actor> {
  const actor = actors.start(place.url, { options: { schema: place.schema, timing: { restartGrace: 0 } } });
  await actor.call('skewClock', minutes * 60_000);
  await actor.call('connect');
  await actor.call('open');
  return actor;
}

describe('fences', () => {
  it('refuse an append that was called before the tree was lost and claimed again by the same owner', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    await store.append(owner, [createUnit(root, root, 1)]);
    // It waits for the trees, while they are taken away and come back.
    const lock = await place.lockTable('owners', 'ACCESS EXCLUSIVE');
    const stale = store.append(owner, [createUnit(root, root, 2)]);
    await place.untilWaiting("relation = '$s.owners'::regclass");
    await place.sql("UPDATE $s.trees SET owner = 'somebody', fence = fence + 1");
    await place.sql('UPDATE $s.trees SET owner = $1, fence = fence + 1', [owner.id]);
    await lock.release();
    expect(await stale).toEqual(fenced);
    expect(await store.trail(root)).toHaveLength(1);
  });

  it('grow with each owner, and a claim of an own tree changes nothing', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    const readFence = async () => (await place.sql<{ fence: string }>('SELECT fence FROM $s.trees'))[0]?.fence;
    await store.append(owner, [createUnit(root, root, 1)]);
    expect(await readFence()).toBe('1');
    await store.claim(owner, root);
    expect(await readFence()).toBe('1');
    await place.sql("UPDATE $s.owners SET beat = beat - interval '1 minute'");
    const { store: other, owner: successor } = await place.openOwner();
    await other.claim(successor, root);
    expect(await readFence()).toBe('2');
    await other.release(successor);
    // The same owner again, with a new ownership.
    const late = store.append(owner, [createUnit(root, root, 2)]);
    expect(await late).toEqual(fenced);
    expect(await store.claim(owner, root)).toEqual({ ok: true, previous: null });
    expect(await readFence()).toBe('3');
    expect(await store.append(owner, [createUnit(root, root, 2)])).toEqual(good);
  });
});
