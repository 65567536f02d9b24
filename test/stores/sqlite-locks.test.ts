// Behaviour while other processes hold locks, with a full disk, and with much data.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Owner, Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { createActors } from './support/actors.ts';
import { createTemporaryDirectory } from './support/temporary.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
const good = [{ ok: true }];
const actors = createActors();
let directory: ReturnType<typeof createTemporaryDirectory>;
let store: Store;
let owner: Owner;

async function open(options: Partial<Parameters<typeof openSqliteStore>[0]> = {}): Promise<void> {
  store = await openSqliteStore({ path: directory.db, ...options });
  owner = await store.open();
}

/** Milliseconds on the clock without those in which this thread could have run and waited for a processor, where the system tells. */
function readOwnTime(): number {
  const file = '/proc/thread-self/schedstat';
  const waitedNs = existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[1]) : 0;
  return performance.now() - waitedNs / 1e6;
}

beforeEach(() => {
  directory = createTemporaryDirectory();
});
afterEach(async () => {
  await store.close();
  await actors.end();
  directory.remove();
});

describe('while another process holds the write lock', () => {
  it('and is stopped, the event loop keeps running, and appends wait and keep their order', async () => {
    await open();
    const holder = actors.start(directory.db);
    await holder.call('lock');
    await holder.signal('SIGSTOP');
    const appends = [1, 2, 3, 4, 5].map((seq) => store.append(owner, [createUnit(root, root, seq)]));
    const gaps: number[] = [];
    const end = performance.now() + 2_000;
    for (let last = readOwnTime(); performance.now() < end || gaps.length < 50; ) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const now = readOwnTime();
      gaps.push(now - last);
      last = now;
    }
    gaps.sort((a, b) => a - b);
    // A wait inside SQLite would be one gap of 2 s.
    expect(gaps[gaps.length >> 1]).toBeLessThan(40);
    expect(gaps.at(-1)).toBeLessThan(1_000);
    await holder.signal('SIGCONT');
    await holder.call('unlock');
    expect(await Promise.all(appends)).toEqual([good, good, good, good, good]);
    expect((await store.facts({ runId: root })).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  });

  it('reads continue, and writes give up after a while without having written anything', async () => {
    await open({ timing: { giveUp: 200 } });
    await store.append(owner, [createUnit(root, root, 1)]);
    using holder = new DatabaseSync(directory.db);
    holder.exec('BEGIN IMMEDIATE');
    const append = store.append(owner, [createUnit(root, root, 2)]);
    expect(await store.facts({})).toHaveLength(1);
    await expect(append).rejects.toMatchObject({ code: 'store_busy', retryable: true });
    await expect(store.open()).rejects.toMatchObject({ code: 'store_busy' });
    holder.exec('ROLLBACK');
    expect(await store.append(owner, [createUnit(root, root, 2)])).toEqual(good);
  });

  it('closing rejects waiting writes', async () => {
    await open();
    using holder = new DatabaseSync(directory.db);
    holder.exec('BEGIN IMMEDIATE');
    const append = store.append(owner, [createUnit(root, root, 1)]);
    const closing = store.close();
    await expect(append).rejects.toMatchObject({ code: 'store_io' });
    await closing;
  });

  it('the database can be opened, and a new owner waits', async () => {
    await open();
    using holder = new DatabaseSync(directory.db);
    holder.exec('BEGIN IMMEDIATE');
    const other = await openSqliteStore({ path: directory.db });
    const registered = other.open();
    setTimeout(() => holder.exec('ROLLBACK'), 100);
    expect((await registered).id).not.toBe('');
    await other.close();
  });
});

describe('when the disk is full', () => {
  it('an append fails as a whole and may be retried, and earlier appends are kept', async () => {
    await open();
    await store.close();
    // A limit on the size of files stands for the full disk: to SQLite both are a write that fails.
    const actor = actors.start(directory.db, { shell: 'ulimit -f 600' });
    await actor.call('connect');
    await actor.call('open');
    let taken = 0;
    let failure: unknown;
    while (failure === undefined && taken < 1_000) {
      await actor.call('append', root, root, 20 * taken + 1, 20 * taken + 20).then(
        () => taken++,
        (error) => {
          failure = error;
        },
      );
    }
    expect(failure).toMatchObject({ code: 'store_io' });
    await expect(actor.call('append', root, root, 20 * taken + 1, 20 * taken + 20)).rejects.toMatchObject({ code: 'store_io' });
    await actor.signal('SIGKILL');
    await open();
    const seqs = (await store.facts({ runId: root })).map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: 20 * taken }, (_, index) => index + 1));
    await store.claim(owner, root);
    expect(await store.append(owner, [createUnit(root, root, 20 * taken + 1)])).toEqual(good);
  });
});

describe('with much data', () => {
  const batch = (n: number) =>
    Array.from({ length: 100 }, (_, index) => createUnit(createRunId(1000 * n + index), createRunId(1000 * n + index), 1, 7));

  it('a long result is read in slices, complete and in order', async () => {
    await open();
    for (let n = 1; n <= 30; n++) await store.append(owner, batch(n));
    let turns = 0;
    let reading = true;
    const count = () => {
      turns++;
      if (reading) setImmediate(count);
    };
    setImmediate(count);
    const facts = await store.facts({});
    const rows = await store.runs({ order: 'oldest' });
    reading = false;
    expect(facts).toHaveLength(21_000);
    expect(facts.map(({ position }) => Number(position))).toEqual(Array.from({ length: 21_000 }, (_, index) => index + 1));
    expect(rows).toHaveLength(3_000);
    expect(new Set(rows.map((row) => row.runId)).size).toBe(3_000);
    expect(turns).toBeGreaterThan(2);
  });

  it('the write-ahead log stays bounded, and is removed on close', async () => {
    await open();
    let longest = 0;
    for (let n = 1; n <= 120; n++) {
      await store.append(owner, batch(n));
      longest = Math.max(longest, statSync(`${directory.db}-wal`).size);
    }
    expect(longest).toBeLessThan(80_000_000);
    await store.close();
    expect(statSync(`${directory.db}-wal`, { throwIfNoEntry: false })).toBeUndefined();
    await open();
    expect(await store.runs({})).toHaveLength(12_000);
  });

  it('many small commits do not fill the write-ahead log, which is emptied while the store stays open', async () => {
    await open();
    const logSize = () => statSync(`${directory.db}-wal`).size;
    let longest = 0;
    let shortest = Number.POSITIVE_INFINITY;
    for (let seq = 1; seq <= 6_000; seq++) {
      await store.append(owner, [createUnit(root, root, seq)]);
      longest = Math.max(longest, logSize());
      if (seq > 3_000) shortest = Math.min(shortest, logSize());
      if (seq % 100 === 0) await yieldToEventLoop();
    }
    // These commits write more than 100 MB to the log, for 2 MB of data.
    expect(longest).toBeLessThan(40_000_000);
    expect(shortest).toBeLessThan(2_000_000);
    expect(await store.facts({ runId: root })).toHaveLength(6_000);
  });

  it('a reader keeps no snapshot between the slices of a long result, so that the log can be emptied', async () => {
    await open();
    for (let n = 1; n <= 30; n++) await store.append(owner, batch(n));
    using other = new DatabaseSync(directory.db);
    let isReading = true;
    const facts = store.facts({}).finally(() => {
      isReading = false;
    });
    const emptied: unknown[] = [];
    while (isReading) {
      await yieldToEventLoop();
      if (isReading) emptied.push(other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy);
    }
    expect(await facts).toHaveLength(21_000);
    expect(emptied).toContain(0);
  });

  it('warns of a reader with an old snapshot, which prevents the log from being restarted', { timeout: 240_000 }, async () => {
    const warnings: string[] = [];
    await open({ warn: (message) => warnings.push(message) });
    await store.append(owner, [createUnit(root, root, 1)]);
    using reader = new DatabaseSync(directory.db);
    reader.exec('BEGIN; SELECT count(*) FROM facts');
    reader.prepare('SELECT * FROM facts').all();
    let n = 1;
    while (warnings.length === 0 && n <= 400) await store.append(owner, batch(n++));
    expect(warnings[0]).toContain(directory.db);
    reader.exec('COMMIT');
  });
});
