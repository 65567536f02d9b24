// A server that cannot write its runs any more, because the disk was full or another process took over, works again once it can: with a new client
// run, and the first result says what became of the runs before.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { RetinueError } from '../../src/contract/error.ts';
import { native } from '../../src/dialects/native.ts';
import { openfork } from '../../src/dialects/openfork.ts';
import { createRetinue } from '../../src/main/library.ts';
import { scriptedModel } from '../../src/main/testing.ts';
import { serve } from '../../src/mcp/serve.ts';
import type { Dialect } from '../../src/ports/dialect.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { createPlace } from '../cli/support-process.ts';
import { readTexts, startServer } from './support.ts';

const script = {
  runs: [
    { times: 'any' as const, when: { task: 'hold' }, steps: [{ hang: 'start' as const }] },
    { times: 'any' as const, steps: [{ text: 'found it' }] },
  ],
};
const idIn = (text: string | undefined) => /[0-9a-f]{16}/.exec(text ?? '')?.[0] as string;
const takenOver = 'Another process took over the runs of this connection';
const notRecorded = 'The runs of this connection could not be recorded any more';

/** A store on a disk that can be full. */
function createFillableStore(): { store: Store; disk: { isFull: boolean } } {
  const store = createMemoryStore();
  const disk = { isFull: false };
  const whenRoom = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (disk.isFull) throw new RetinueError('store_io', 'The disk is full. Free some disk space.', { retryable: true });
      return call(...args);
    };
  };
  const { append, open, release, claim } = store;
  return { disk, store: { ...store, append: whenRoom(append), open: whenRoom(open), release: whenRoom(release), claim: whenRoom(claim) } };
}

async function startOnDisk(dialect: Dialect) {
  const { store, disk } = createFillableStore();
  const retinue = createRetinue({ model: scriptedModel(script), store, dialect, sandbox: 'off' });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const connection = await serve(far, {
    ...{ version: '0', fixed: true, limits: {}, share: false, dialect, isFolder: () => true, log: () => {}, every: () => () => {} },
    open: async () => ({ ...retinue.api, close: async () => {} }),
  });
  const client = new Client({ name: 'tester', version: '1' });
  await client.connect(near);
  return {
    disk,
    api: retinue.api,
    call: async (name: string, args: Record<string, unknown>) =>
      readTexts((await client.callTool({ name, arguments: args })) as CallToolResult),
    async [Symbol.asyncDispose]() {
      await connection.close();
      await retinue.close();
    },
  };
}

describe('a disk that was full and has room again', () => {
  it('native: new runs work, and the first result names the interrupted ones, which can be resumed', async () => {
    await using server = await startOnDisk(native);
    const [first] = await server.call('delegate', { tasks: [{ task: 'hold', label: 'long work' }], wait_seconds: 0 });
    const [done] = await server.call('delegate', { tasks: [{ task: 'look' }] });
    server.disk.isFull = true;
    const [refused] = await server.call('delegate', { tasks: [{ task: 'look' }] });
    expect(refused).toContain('The disk is full. Free some disk space.');
    const [still] = await server.call('delegate', { tasks: [{ task: 'look' }] });
    expect(still).toContain('The disk is full. Free some disk space.');
    server.disk.isFull = false;
    const [answer, notice, ...rest] = await server.call('delegate', { tasks: [{ task: 'look' }] });
    expect(answer).toContain('found it');
    expect(notice).toContain(`${notRecorded}, so they were stopped. The disk is full. Free some disk space. This server works again`);
    const id = idIn(first);
    expect(notice).toContain(`[run ${id} · interrupted · "long work"] continue it with \`retinue resume ${id}\``);
    expect(rest).toEqual([]);
    expect(await server.call('delegate_read', { id: idIn(done), part: 'summary' })).toEqual([expect.stringContaining('found it')]);
    expect(await server.call('delegate_wait', { ids: [id], seconds: 0 })).toEqual([expect.stringContaining(id)]);
    const { rootId } = await server.api.show(id);
    expect((await server.api.interrupted()).map((tree) => tree.rootId)).toEqual([rootId]);
  });

  it('a compatible dialect: the runs end with their client, and the first result has their outcome', async () => {
    await using server = await startOnDisk(openfork());
    const task = { subagent_type: 'explore', description: 'to look', prompt: 'look' };
    const [launched] = await server.call('task', { ...task, prompt: 'hold', run_in_background: true });
    server.disk.isFull = true;
    expect((await server.call('task', task))[0]).toContain('The disk is full');
    server.disk.isFull = false;
    const [answer, notice, ended] = await server.call('task', task);
    expect(answer).toContain('found it');
    expect(notice).toContain('All runs delegated before have ended.');
    expect(ended).toContain(`[run ${idIn(launched)} · cancelled`);
    expect((await server.call('task_status', { id: idIn(launched) }))[0]).toMatch(/^Status: cancelled/);
  });

  it('when it fills during a call, the call names the runs that were interrupted', async () => {
    await using server = await startOnDisk(native);
    const waiting = server.call('delegate', { tasks: [{ task: 'hold' }] });
    await expect.poll(async () => (await server.api.ps({ all: true })).map(({ turns, kind }) => `${kind} ${turns}`)).toContain('agent 0');
    server.disk.isFull = true;
    await server.api.ps({ all: true }).then((runs) => server.api.message(runs[0]?.runId ?? '', 'hurry').catch(() => {}));
    expect((await waiting)[0]).toMatch(/^these runs of the call were interrupted: [0-9a-f]{16}$/);
    server.disk.isFull = false;
    expect(await server.call('delegate_wait', { seconds: 0 })).toEqual([expect.any(String), expect.stringContaining('interrupted')]);
  });

  it('is enough for a server whose first delegation it had stopped', async () => {
    await using server = await startOnDisk(native);
    server.disk.isFull = true;
    expect((await server.call('delegate', { tasks: [{ task: 'look' }] }))[0]).toContain('The disk is full');
    server.disk.isFull = false;
    expect(await server.call('delegate', { tasks: [{ task: 'look' }] })).toEqual([expect.stringContaining('found it')]);
  });

  it.runIf(canMount())('is noticed on a real disk too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'retinue-disk-'));
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'none', folder]).status).toBe(0);
    try {
      await using server = await startServer({ args: ['--db', join(folder, 'runs.db')] });
      await server.call('delegate', { tasks: [{ task: 'x' }] });
      const filler = join(folder, 'filler');
      const fill = () => {
        const { bavail, bsize } = statfsSync(folder);
        writeFileSync(filler, Buffer.alloc(bavail * bsize), { flag: 'a' });
      };
      let answer = '';
      for (let calls = 0; calls < 200 && !answer.includes('full'); calls++) {
        fill();
        answer = readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] })).join('\n');
      }
      expect(answer).toContain('disk is full');
      rmSync(filler);
      const texts = readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] }));
      expect(texts[0]).toContain('all is fine here');
      expect(texts.join('\n')).toContain(notRecorded);
      expect(readTexts(await server.call('delegate', { tasks: [{ task: 'x' }] }))).toEqual([expect.stringContaining('all is fine here')]);
    } finally {
      spawnSync('umount', [folder]);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Whether this process may mount a small disk. */
function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), 'retinue-mount-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', folder]);
  if (status === 0) spawnSync('umount', [folder]);
  rmSync(folder, { recursive: true });
  return status === 0;
}

/** Another process, as the store sees it, takes a tree from its owner: to its clock, the owner has been silent for 20 s. */
async function takeOver(path: string, rootId: string): Promise<{ close(): Promise<void> }> {
  const late = { ms: 0 };
  const store = await openSqliteStore({ path, now: () => Number(process.hrtime.bigint() / 1_000_000n) + late.ms });
  const owner = await store.open();
  late.ms = 20_000;
  expect(await store.claim(owner, rootId)).toMatchObject({ ok: true });
  late.ms = 0;
  return store;
}

describe('a server whose runs another process took over', () => {
  it('opens a new client run, and the first result says who has the runs now', async () => {
    using place = createPlace(script);
    await using server = await startServer({ place });
    const id = idIn(readTexts(await server.call('delegate', { tasks: [{ task: 'hold' }], wait_seconds: 0 }))[0]);
    const { rootId } = JSON.parse((await place.run('show', id, '--json')).out);
    const other = await takeOver(join(place.folder, '.retinue/retinue.db'), rootId);
    const [answer, notice] = readTexts(await server.call('delegate', { tasks: [{ task: 'look' }] }));
    expect(answer).toContain('found it');
    expect(notice).toContain(takenOver);
    expect(notice).toContain(`[run ${id} · running] another process continues it`);
    await other.close();
    expect(readTexts(await server.call('delegate', { tasks: [{ task: 'look' }] }))).toEqual([expect.stringContaining('found it')]);
    const roots = JSON.parse((await place.run('ps', '--all', '--json')).out).filter(({ kind }: { kind: string }) => kind === 'client');
    expect(roots.map(({ status }: { status: string }) => status)).toEqual(['running', 'interrupted']);
  });

  it('answers a status request about its own run, which was continued elsewhere', async () => {
    using place = createPlace(script);
    await using server = await startServer({ place });
    const id = idIn(readTexts(await server.call('delegate', { tasks: [{ task: 'hold' }], wait_seconds: 0 }))[0]);
    const { rootId } = JSON.parse((await place.run('show', id, '--json')).out);
    await (await takeOver(join(place.folder, '.retinue/retinue.db'), rootId)).close();
    expect((await place.run('cancel', id)).code).toBe(0);
    const [status, notice] = readTexts(await server.call('delegate_wait', { ids: [id] }));
    expect(status).toContain('cancelled');
    expect(notice).toContain('All runs delegated before have ended.');
  });
});

describe('a program that uses the library', () => {
  it('delegates again when the disk has room; a scope that was lost says so, and a new one works', async () => {
    const { store, disk } = createFillableStore();
    await using retinue = createRetinue({ model: scriptedModel(script), store, sandbox: 'off' });
    const lost = retinue.scope();
    await (await lost.delegate({ task: 'look' })).outcome;
    const held = await lost.delegate({ task: 'hold' });
    disk.isFull = true;
    await expect(retinue.delegate({ task: 'look' })).rejects.toThrow('The disk is full');
    await expect(lost.delegate({ task: 'look' })).rejects.toThrow('The disk is full');
    await expect(held.outcome).rejects.toThrow('The disk is full');
    disk.isFull = false;
    await expect(lost.delegate({ task: 'look' })).rejects.toThrow(
      /^this scope can no longer be used: The disk is full\..* Open a new scope\.$/,
    );
    expect((await (await retinue.delegate({ task: 'look' })).outcome).summary).toBe('found it');
    await using scope = retinue.scope();
    expect((await (await scope.delegate({ task: 'look' })).outcome).summary).toBe('found it');
    expect(await retinue.api.interrupted()).toHaveLength(1);
  });

  it('delegates again after another process took over its runs', async () => {
    using place = createPlace(script);
    const path = join(place.folder, 'runs.db');
    await using retinue = createRetinue({ model: scriptedModel(script), store: await openSqliteStore({ path }), sandbox: 'off' });
    const held = await retinue.delegate({ task: 'hold' });
    const other = await takeOver(path, held.id);
    await expect(held.outcome).rejects.toThrow(/taken over/);
    expect((await (await retinue.delegate({ task: 'look' })).outcome).summary).toBe('found it');
    await other.close();
  });
});
