// Real processes at one database: writers at once, owners that are killed, stopped or replaced, and the wake-up between them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { isGone, ownIdentity, readStat } from '../../src/stores/sqlite/process-identity.ts';
import { type Actor, createActors } from './support/actors.ts';
import { temporary } from './support/temporary.ts';
import { runId, unit } from './support/units.ts';

const root = runId(1);
const good = [{ ok: true }];
const fenced = [{ ok: false, reason: 'fenced' }];

let directory: ReturnType<typeof temporary>;
let store: Store;
const actors = createActors();

beforeEach(() => {
  directory = temporary();
});
afterEach(async () => {
  await store?.close();
  await actors.end();
  directory.remove();
});

/** Another process that owns a tree with one fact. */
async function owning(options: unknown = {}): Promise<Actor> {
  const actor = actors.start(directory.db, { options });
  await actor.call('connect');
  await actor.call('open');
  expect(await actor.call('append', root, root, 1, 1)).toEqual(good);
  return actor;
}

function database(): DatabaseSync {
  return new DatabaseSync(directory.db, { timeout: 5_000 });
}

it('lets 32 processes open a new database and append at once: nothing is refused, nothing is lost', { timeout: 120_000 }, async () => {
  const [processes, runs, appends] = [32, 3, 50];
  const writers = Array.from({ length: processes }, () => actors.start(directory.db));
  await Promise.all(writers.map((writer) => writer.call('connect')));
  await Promise.all(writers.map((writer) => writer.call('open')));
  const refused = await Promise.all(writers.map((writer, n) => writer.call('write', 100 * n, runs, appends)));
  expect(refused).toEqual(writers.map(() => 0));
  store = await openSqliteStore({ path: directory.db });
  const rows = await store.runs({});
  expect(rows).toHaveLength(processes * runs);
  for (const { runId: run } of rows) {
    const seqs = (await store.facts({ runId: run })).map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: 2 * appends }, (_, index) => index + 1));
  }
});

describe('an owner', () => {
  it('that is killed is replaced at once, and what it committed is there', async () => {
    const actor = await owning();
    store = await openSqliteStore({ path: directory.db });
    const heir = await store.open();
    expect(await store.claim(heir, root)).toMatchObject({ ok: false, pid: actor.pid });
    expect((await store.holders([root])).get(root)).toEqual({ pid: actor.pid, alive: true });
    await actor.signal('SIGKILL');
    expect((await store.holders([root])).get(root)).toEqual({ pid: actor.pid, alive: false });
    expect(await store.claim(heir, root)).toMatchObject({ ok: true, previous: expect.any(String) });
    expect(await store.append(heir, [unit(root, root, 2)])).toEqual(good);
    expect((await store.facts({ runId: root })).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it('that is stopped is fenced after the silence, and refused when it goes on', async () => {
    const timing = { heartbeat: 50, silence: 400 };
    const actor = await owning({ timing });
    await actor.call('append', runId(3), runId(3), 1, 1);
    store = await openSqliteStore({ path: directory.db, timing });
    const heir = await store.open();
    await actor.signal('SIGSTOP');
    await vi.waitFor(async () => expect(await store.claim(heir, root)).toMatchObject({ ok: true }), { timeout: 10_000, interval: 50 });
    expect(await store.append(heir, [unit(root, root, 2)])).toEqual(good);
    await actor.signal('SIGCONT');
    expect(await actor.call('append', root, root, 2, 2)).toEqual(fenced);
    expect(await actor.call('append', runId(2), runId(2), 1, 1)).toEqual(fenced);
    // Its heartbeats, which go on, bring nothing back.
    expect((await store.holders([runId(3)])).get(runId(3))).toEqual({ pid: actor.pid, alive: false });
    expect(await store.claim(heir, runId(3))).toMatchObject({ ok: true });
  });

  it('that lives sends heartbeats and keeps its trees', async () => {
    await owning({ timing: { heartbeat: 50 } });
    using db = database();
    const beats = new Set<unknown>();
    const look = () => expect(beats.add(db.prepare('SELECT beat FROM owners').get()?.beat).size).toBeGreaterThan(5);
    await vi.waitFor(look, { timeout: 10_000, interval: 20 });
    store = await openSqliteStore({ path: directory.db });
    expect(await store.claim(await store.open(), root)).toMatchObject({ ok: false });
  });

  it.each(['started', 'boot'])('whose number now belongs to a process with another %s is gone', async (column) => {
    const actor = await owning();
    using db = database();
    db.prepare(`UPDATE owners SET ${column} = 'other' WHERE pid = ?`).run(actor.pid);
    store = await openSqliteStore({ path: directory.db });
    expect(await store.claim(await store.open(), root)).toMatchObject({ ok: true, previous: expect.any(String) });
  });

  it('in another container is judged by its heartbeat alone', async () => {
    await owning();
    using db = database();
    db.exec("UPDATE owners SET space = 'other', pid = 99999999");
    store = await openSqliteStore({ path: directory.db });
    const heir = await store.open();
    expect(await store.claim(heir, root)).toMatchObject({ ok: false });
    db.exec("UPDATE owners SET beat = beat - 16000 WHERE space = 'other'");
    expect(await store.claim(heir, root)).toMatchObject({ ok: true });
  });

  it('that is dead and drives nothing is forgotten at the next opening', async () => {
    const actor = actors.start(directory.db);
    await actor.call('connect');
    await actor.call('open');
    await actor.signal('SIGKILL');
    store = await openSqliteStore({ path: directory.db });
    await store.open();
    using db = database();
    expect(db.prepare('SELECT pid FROM owners').all()).toEqual([{ pid: process.pid }]);
  });
});

describe('the wake-up', () => {
  const order = { id: 'o', runId: root, rootId: root, kind: 'cancel', text: '', at: '2026-01-01T00:00:00.000Z' } as const;

  it('reaches an owner in another process through its socket', async () => {
    const actor = await owning({ timing: { poll: 600_000 } });
    await actor.call('watch');
    store = await openSqliteStore({ path: directory.db });
    await store.order(order);
    await vi.waitFor(async () => expect(await actor.call('rings')).toBe(1), { timeout: 5_000 });
  });

  it.each(["'1-00000000.sock'", "'../../etc/passwd'", 'NULL'])('comes by looking where the socket is %s', async (socket) => {
    const actor = await owning({ timing: { poll: 20 } });
    using db = database();
    db.exec(`UPDATE owners SET socket = ${socket}`);
    await actor.call('watch');
    store = await openSqliteStore({ path: directory.db });
    await store.order(order);
    await vi.waitFor(async () => expect(await actor.call('rings')).toBeGreaterThan(0), { timeout: 5_000 });
  });

  it('needs a socket only as long as there is a lease', async () => {
    store = await openSqliteStore({ path: directory.db });
    const owner = await store.open();
    using db = database();
    const socket = join(tmpdir(), `retinue-${process.getuid?.()}`, String(db.prepare('SELECT socket FROM owners').get()?.socket));
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
    await store.release(owner);
    expect(existsSync(socket)).toBe(false);
  });

  it('does not wait for an owner that is stopped', async () => {
    const actor = await owning();
    await actor.signal('SIGSTOP');
    store = await openSqliteStore({ path: directory.db });
    const begin = performance.now();
    await store.order(order);
    expect(performance.now() - begin).toBeLessThan(2_000);
  });
});

describe('telling processes apart', () => {
  it('reads the start out of a line whose name has spaces and brackets', () => {
    const rest = `S ${Array.from({ length: 30 }, (_, index) => index + 4).join(' ')}`;
    expect(readStat(`7 (a) b (c) ${rest}`)).toEqual({ ended: false, started: '22' });
    expect(readStat('7 (x) Z 1 2').ended).toBe(true);
  });

  it('takes a process that has ended for gone while its parent has not asked for it', async () => {
    const self = ownIdentity();
    // The shell becomes a `sleep`, which never asks what became of the shell's child.
    const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = await once(parent.stdout, 'data');
    const pid = Number(String(line));
    await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z '), { timeout: 10_000 });
    expect(isGone({ ...self, pid, started: null }, self)).toBe(true);
    parent.kill('SIGKILL');
  });
});
