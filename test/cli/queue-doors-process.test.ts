// All ways into a queue, with a real worker on a real PostgreSQL server: HTTP, MCP and the library.
import { resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/main/client.ts';
import { createRetinue } from '../../src/main/library.ts';
import { openPostgresStore } from '../../src/main/postgres.ts';
import { scriptedModel } from '../../src/main/testing.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createTestDatabase } from '../support/postgres/database.ts';
import { createPlace, type Place } from './support-process.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');
const script = {
  runs: [
    { times: 'any', when: { task: 'hold' }, steps: [{ hang: 'start' }] },
    { times: 'any', steps: [{ text: 'done by the worker' }] },
  ],
};

async function createCluster(): Promise<{ place: Place; url: string; env: Record<string, string> }> {
  const database = await createTestDatabase();
  onTestFinished(() => database.remove());
  const place = createPlace(script, { RETINUE_DB: database.url });
  onTestFinished(() => place[Symbol.dispose]());
  const worker = place.start('worker', '--name', 'one');
  onTestFinished(async () => {
    worker.process.kill('SIGTERM');
    await worker.finished;
  });
  const env = { PATH: String(process.env.PATH), HOME: place.folder, RETINUE_MODEL: 'script/script.json', RETINUE_DB: database.url };
  return { place, url: database.url, env };
}

it('queues a brief over HTTP, and shows queues and workers', { timeout: 120_000 }, async () => {
  const { place } = await createCluster();
  const server = place.start('serve', '--json');
  const { url, token } = JSON.parse(await server.untilOutput((out) => out.includes('\n'))) as { url: string; token: string };
  const client = createClient({ url, token });
  const first = await client.enqueue({ brief: { task: 'go', idempotencyKey: 'k' } });
  expect(first).toMatchObject({ isNew: true });
  expect(await client.enqueue({ brief: { task: 'go', idempotencyKey: 'k' }, priority: 3 })).toEqual({ ...first, isNew: false });
  await expect.poll(() => client.outcome(first.runId)).toMatchObject({ status: 'completed', summary: 'done by the worker' });
  await expect
    .poll(() => client.queues())
    .toMatchObject({ queues: [{ name: 'default', waiting: 0, running: 0 }], workers: [{ id: 'one', alive: true }] });
  await expect(client.enqueue({ brief: { task: ' ' } })).rejects.toMatchObject({ code: 'invalid_brief' });
  await expect(client.enqueue({ queue: 'no such name', brief: { task: 'go' } })).rejects.toMatchObject({ code: 'usage' });
  const again = place.run('run', '--server', url, '--queue=default', 'go');
  // Without the token it is refused.
  expect(await again).toMatchObject({ code: 2 });
  server.process.kill('SIGTERM');
  await server.finished;
});

it('delegates from an MCP client to the queue, and keeps what it left', { timeout: 120_000 }, async () => {
  const { place, env } = await createCluster();
  const connect = async () => {
    const client = new Client({ name: 'tester', version: '1' });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, 'mcp', '--queue', 'default'],
        env,
        cwd: place.folder,
        stderr: 'ignore',
      }),
    );
    return client;
  };
  const client = await connect();
  const delegated = (await client.callTool({
    name: 'delegate',
    arguments: { tasks: [{ task: 'look', label: 'look' }] },
  })) as CallToolResult;
  expect(JSON.stringify(delegated.content)).toContain('done by the worker');
  const started = (await client.callTool({
    name: 'delegate',
    arguments: { tasks: [{ task: 'later', label: 'later' }], wait_seconds: 0 },
  })) as CallToolResult;
  const id = /[0-9a-f]{16}/.exec(JSON.stringify(started.content))?.[0] as string;
  await client.close();
  const waited = await place.run('wait', id);
  expect(waited).toMatchObject({ code: 0, out: 'done by the worker\n' });
  expect(await place.run('mcp', '--queue', 'default', '--budget-usd', '1')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--queue'),
  });
});

it('lets a later connection of the same MCP client read, ask and end what an earlier one queued, and no other client', {
  timeout: 120_000,
}, async () => {
  const { place, env } = await createCluster();
  const connect = async (name: string) => {
    const client = new Client({ name, version: '1' });
    const args = [bin, 'mcp', '--queue', 'default'];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: place.folder, stderr: 'ignore' }));
    onTestFinished(() => client.close());
    const call = async (tool: string, input: object) =>
      JSON.stringify(((await client.callTool({ name: tool, arguments: { ...input } })) as CallToolResult).content);
    return { close: () => client.close(), call };
  };
  const delegate = async ({ call }: Awaited<ReturnType<typeof connect>>, task: string) =>
    /[0-9a-f]{16}/.exec(await call('delegate', { tasks: [{ task, label: task }], wait_seconds: 0 }))?.[0] as string;
  const first = await connect('tester');
  const quick = await delegate(first, 'quick');
  const open = await delegate(first, 'hold');
  const stranger = await connect('stranger');
  const both = [stranger, await connect('tester')];
  // The first connection is still there.
  for (const { call } of both) expect(await call('delegate_read', { id: quick, part: 'summary' })).toContain('none of your delegated runs');
  await expect.poll(async () => (await place.run('show', quick)).out).toContain('completed');
  await first.close();
  for (const [tool, input] of [
    ['delegate_read', { id: quick, part: 'summary' }],
    ['delegate_wait', { ids: [open], seconds: 0 }],
    ['delegate_cancel', { ids: [open] }],
  ] as const)
    expect(await stranger.call(tool, input), tool).toContain('none of your delegated runs');
  const second = await connect('tester');
  expect(await second.call('delegate_wait', { seconds: 0 })).toContain(open);
  expect(await second.call('delegate_read', { id: quick, part: 'summary' })).toContain('done by the worker');
  expect(await second.call('delegate_wait', { ids: [quick], seconds: 5 })).toContain('done by the worker');
  expect(await second.call('delegate_message', { id: quick, text: 'and now?' })).toMatch(/run [0-9a-f]{16}/);
  expect(await second.call('delegate_cancel', { ids: [open] })).toContain('cancelled');
});

it('queues a brief of a program, once for a key', { timeout: 120_000 }, async () => {
  const { place, url } = await createCluster();
  const orderKey = resolve(place.folder, '.config/retinue/order-key');
  await expect.poll(async () => (await place.run('queue', '--json')).out).toContain('"one"');
  const store = await openPostgresStore({ url, orderKey });
  await using retinue = createRetinue({ model: 'script/script.json', store, workspace: place.folder, sandbox: 'off' });
  const brief = { task: 'go', idempotencyKey: 'k' };
  const run = await retinue.enqueue(brief, { priority: 1 });
  expect(run.isNew).toBe(true);
  expect(await retinue.enqueue(brief)).toMatchObject({ id: run.id, isNew: false });
  expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done by the worker' });
  const withObject = createRetinue({ model: scriptedModel(script as never), store: createMemoryStore() });
  onTestFinished(() => withObject.close());
  await expect(withObject.enqueue(brief)).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('by their names') });
});
