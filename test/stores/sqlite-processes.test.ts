// Real processes at one database: writers at once, owners that are killed, stopped or replaced, and the wake-up between them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { getOwnIdentity, hasEnded, parseStat } from '../../src/stores/process-identity.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { watchEventLoop } from '../support/cpu-time.ts';
import { type Actor, createActors } from './support/actors.ts';
import { testAuthenticator } from './support/authenticator.ts';
import { createTemporaryDirectory } from './support/temporary.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
const good = [{ ok: true }];
const fenced = [{ ok: false, reason: 'fenced' }];

let directory: ReturnType<typeof createTemporaryDirectory>;
let store: Store;
const actors = createActors();

beforeEach(() => {
  directory = createTemporaryDirectory();
});
afterEach(async () => {
  await store?.close();
  await actors.end();
  directory.remove();
});

/** Starts another process that owns a tree with one fact. */
async function startOwner(options: unknown = {}): Promise<Actor> {
  const actor = actors.start(directory.db, { options });
  await actor.call('connect');
  await actor.call('open');
  expect(await actor.call('append', root, root, 1, 1)).toEqual(good);
  return actor;
}

function openDatabase(): DatabaseSync {
  return new DatabaseSync(directory.db, { timeout: 5_000 });
}

it('32 processes can open a new database and append at the same time: nothing is refused or lost', { timeout: 120_000 }, async () => {
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
  it('that is killed can be replaced immediately, and its commits are kept', async () => {
    const actor = await startOwner();
    store = await openSqliteStore({ path: directory.db });
    const successor = await store.open();
    expect(await store.claim(successor, root)).toMatchObject({ ok: false, pid: actor.pid });
    expect((await store.holders([root])).get(root)).toMatchObject({ pid: actor.pid, alive: true });
    await actor.signal('SIGKILL');
    expect((await store.holders([root])).get(root)).toMatchObject({ pid: actor.pid, alive: false });
    expect(await store.claim(successor, root)).toMatchObject({ ok: true, previous: expect.any(String) });
    expect(await store.append(successor, [createUnit(root, root, 2)])).toEqual(good);
    expect((await store.facts({ runId: root })).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it('that is stopped loses a tree after missing heartbeats, and keeps the others when it continues', async () => {
    const timing = { heartbeat: 50, silence: 4_000 };
    const actor = await startOwner({ timing });
    await actor.call('append', createRunId(3), createRunId(3), 1, 1);
    store = await openSqliteStore({ path: directory.db, timing });
    const successor = await store.open();
    await actor.signal('SIGSTOP');
    await vi.waitFor(async () => expect(await store.claim(successor, root)).toMatchObject({ ok: true }), { timeout: 50_000, interval: 50 });
    expect(await store.append(successor, [createUnit(root, root, 2)])).toEqual(good);
    await actor.signal('SIGCONT');
    expect(await actor.call('append', root, root, 2, 2)).toEqual(fenced);
    // Its heartbeats, which continue, restore its lease on the tree that was not taken.
    const other = createRunId(3);
    await vi.waitFor(async () => expect((await store.holders([other])).get(other)).toMatchObject({ pid: actor.pid, alive: true }), {
      timeout: 50_000,
    });
    expect(await actor.call('append', other, other, 2, 2)).toEqual(good);
    expect(await store.claim(successor, other)).toMatchObject({ ok: false, pid: actor.pid });
    expect(await actor.call('append', root, root, 3, 3)).toEqual(fenced);
  });

  it('that is alive sends heartbeats and keeps its trees', async () => {
    await startOwner({ timing: { heartbeat: 50 } });
    using db = openDatabase();
    const beats = new Set<unknown>();
    const look = () => expect(beats.add(db.prepare('SELECT beat FROM owners').get()?.beat).size).toBeGreaterThan(5);
    await vi.waitFor(look, { timeout: 50_000, interval: 20 });
    store = await openSqliteStore({ path: directory.db });
    expect(await store.claim(await store.open(), root)).toMatchObject({ ok: false });
  });

  it.each(['started', 'boot'])('whose process id now belongs to a process with another %s is dead', async (column) => {
    const actor = await startOwner();
    using db = openDatabase();
    db.prepare(`UPDATE owners SET ${column} = 'other' WHERE pid = ?`).run(actor.pid);
    store = await openSqliteStore({ path: directory.db });
    expect(await store.claim(await store.open(), root)).toMatchObject({ ok: true, previous: expect.any(String) });
  });

  it('in another container is judged only by its heartbeat', async () => {
    await startOwner();
    using db = openDatabase();
    db.exec("UPDATE owners SET space = 'other', pid = 99999999");
    store = await openSqliteStore({ path: directory.db });
    const successor = await store.open();
    expect(await store.claim(successor, root)).toMatchObject({ ok: false });
    db.exec("UPDATE owners SET beat = beat - 16000 WHERE space = 'other'");
    expect(await store.claim(successor, root)).toMatchObject({ ok: true });
  });

  it('that is dead and drives nothing is removed when another owner registers', async () => {
    const actor = actors.start(directory.db);
    await actor.call('connect');
    await actor.call('open');
    await actor.signal('SIGKILL');
    store = await openSqliteStore({ path: directory.db });
    await store.open();
    using db = openDatabase();
    expect(db.prepare('SELECT pid FROM owners').all()).toEqual([{ pid: process.pid }]);
  });
});

describe('the wake-up', () => {
  const order = { id: 'o', runId: root, rootId: root, kind: 'cancel', by: 'the user', text: '', at: '2026-01-01T00:00:00.000Z' } as const;

  it('reaches an owner in another process through its socket', async () => {
    const actor = await startOwner({ timing: { poll: 600_000 } });
    await actor.call('watch');
    store = await openSqliteStore({ path: directory.db, authenticator: testAuthenticator });
    await store.order(order);
    await vi.waitFor(async () => expect(await actor.call('wakeUps')).toBe(1), { timeout: 50_000 });
  });

  it.each(["'1-00000000.sock'", "'../../etc/passwd'", 'NULL'])('comes by polling if the socket is %s', async (socket) => {
    const actor = await startOwner({ timing: { poll: 20 } });
    using db = openDatabase();
    db.exec(`UPDATE owners SET socket = ${socket}`);
    await actor.call('watch');
    store = await openSqliteStore({ path: directory.db, authenticator: testAuthenticator });
    await store.order(order);
    await vi.waitFor(async () => expect(await actor.call('wakeUps')).toBeGreaterThan(0), { timeout: 50_000 });
  });

  it('has a socket only as long as there is a lease', async () => {
    store = await openSqliteStore({ path: directory.db, authenticator: testAuthenticator });
    const owner = await store.open();
    using db = openDatabase();
    const socket = join(tmpdir(), `retinue-${process.getuid?.()}`, String(db.prepare('SELECT socket FROM owners').get()?.socket));
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
    await store.release(owner);
    expect(existsSync(socket)).toBe(false);
  });

  it('does not wait for a stopped owner', async () => {
    const actor = await startOwner();
    await actor.signal('SIGSTOP');
    store = await openSqliteStore({ path: directory.db, authenticator: testAuthenticator });
    const stop = watchEventLoop();
    await store.order(order);
    expect(stop().passedMs).toBeLessThan(2_000);
  });
});

describe('the identity of a process', () => {
  it('has the start time from a line whose process name contains spaces and brackets', () => {
    const rest = `S ${Array.from({ length: 30 }, (_, index) => index + 4).join(' ')}`;
    expect(parseStat(`7 (a) b (c) ${rest}`)).toEqual({ ended: false, started: '22' });
    expect(parseStat('7 (x) Z 1 2').ended).toBe(true);
  });

  it('counts a zombie as ended', async () => {
    const self = getOwnIdentity();
    // The shell becomes a `sleep`, which never reads the exit code of the shell's child.
    const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = await once(parent.stdout, 'data');
    const pid = Number(String(line));
    await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z '), { timeout: 50_000 });
    expect(hasEnded({ ...self, pid, started: null }, self)).toBe(true);
    parent.kill('SIGKILL');
  });
});
