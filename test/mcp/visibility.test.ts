// Which delegated runs a connection sees: its own, and those of earlier connections of the same client. An id alone opens nothing.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { dialectNames } from '../../src/dialects/index.ts';
import { createRetinue } from '../../src/main/library.ts';
import type { Dialect, DialectTool } from '../../src/ports/dialect.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { createPlace, type Place } from '../cli/support-process.ts';
import { readTexts, type Server, startServer, waitForExit } from './support.ts';
import { startInProcess } from './support-in-process.ts';

const secret = 'the finding of the first client';
const script = {
  runs: [
    { times: 'any', when: { task: 'hold' }, steps: [{ hang: 'start' }] },
    { times: 'any', steps: [{ text: secret }] },
  ],
};

function connect(place: Place, name: string, ...args: string[]): Promise<Server> {
  return startServer({ place, args, client: new Client({ name, version: '1' }) });
}

async function delegate(server: Server, task: string): Promise<string> {
  const [text = ''] = readTexts(await server.call('delegate', { tasks: [{ task }], ...(task === 'hold' ? { wait_seconds: 0 } : {}) }));
  return /run ([0-9a-f]{16})/.exec(text)?.[1] as string;
}

/** One call for each way to get at a run by its id. */
const nativeCalls = (id: string): [string, object][] => [
  ['delegate_wait', { ids: [id], seconds: 0 }],
  ['delegate_wait', { ids: [id], seconds: 5 }],
  ['delegate_read', { id, part: 'summary' }],
  ['delegate_read', { id, part: 'log' }],
  ['delegate_read', { id, part: 'diff' }],
  ['delegate_read', { id, part: 'artifact' }],
  ['delegate_message', { id, text: 'what did you find?' }],
  ['delegate_cancel', { ids: [id] }],
];

async function expectHidden(server: Server, calls: [string, object][], id: string): Promise<void> {
  for (const [tool, args] of calls) {
    const answer = readTexts(await server.call(tool, args)).join('\n');
    expect(answer, tool).toContain(`${id} is none of your delegated runs`);
    expect(answer, tool).not.toContain(secret);
  }
}

describe('another client', () => {
  it('cannot read, wait for, continue or cancel a run by its id, whether the first client is connected or gone', async () => {
    using place = createPlace(script);
    await using first = await connect(place, 'first');
    const [ended, running] = [await delegate(first, 'find'), await delegate(first, 'hold')];
    await using second = await connect(place, 'second');
    await expectHidden(second, nativeCalls(ended), ended);
    await expectHidden(second, nativeCalls(running), running);
    expect(readTexts(await first.call('delegate_wait', { ids: [running], seconds: 0 }))[0]).toContain('running');
    await first.client.close();
    await expectHidden(second, nativeCalls(ended), ended);
    await expectHidden(second, nativeCalls(running), running);
    expect(JSON.parse((await place.run('show', running, '--json')).out).status).toBe('paused');
  });

  it.each(dialectNames)('cannot get at one through any tool of the dialect %s that takes an id', async (dialect) => {
    using place = createPlace(script);
    await using first = await connect(place, 'first');
    const id = await delegate(first, 'find');
    await first.client.close();
    await using second = await connect(place, 'second', '--dialect', dialect);
    const { tools } = await second.client.listTools();
    const calls = tools.flatMap(({ name, inputSchema }): [string, object][] => {
      const keys = Object.keys(inputSchema.properties ?? {}).filter((key) => /(^|_)ids?$|^targets?$|^to$/.test(key));
      const more: Record<string, object> = {
        delegate_read: { part: 'summary' },
        delegate_message: { text: 'and?' },
        SendMessage: { message: 'and?' },
        send_input: { message: 'and?' },
      };
      const others = more[name] ?? {};
      return keys.map((key) => [name, { ...others, [key]: key.endsWith('s') ? [id] : id }]);
    });
    expect(calls.length).toBe({ native: 5, openfork: 2, ralph: 1, claude: 5, codex: 4 }[dialect] ?? 0);
    for (const [tool, args] of calls) {
      const answer = readTexts(await second.call(tool, args)).join('\n');
      expect(answer, tool).toMatch(/none of your delegated runs|Subagent not found|No agent has the id or name|not_found/);
      expect(answer, tool).not.toContain(secret);
    }
  });

  it('sees it if the user allows sharing', async () => {
    using place = createPlace(script);
    await using first = await connect(place, 'first');
    const id = await delegate(first, 'find');
    await using second = await connect(place, 'second', '--share');
    expect(readTexts(await second.call('delegate_read', { id, part: 'summary' }))[0]).toContain(secret);
    const running = await delegate(first, 'hold');
    expect(readTexts(await second.call('delegate_message', { id: running, text: 'x' }))[0]).toContain('another process is running');
  });
});

describe('a later connection of the same client', () => {
  it('sees nothing of one that is still connected, and everything once it has closed', async () => {
    using place = createPlace(script);
    await using first = await connect(place, 'same');
    const id = await delegate(first, 'find');
    await using second = await connect(place, 'same');
    await expectHidden(second, nativeCalls(id), id);
    await first.client.close();
    expect(readTexts(await second.call('delegate_wait', { ids: [id] }))[0]).toContain(secret);
    expect(readTexts(await second.call('delegate_read', { id, part: 'summary' }))[0]).toContain(secret);
    expect(readTexts(await second.call('delegate_message', { id, text: 'and then?' }))[0]).toMatch(/^\[run [0-9a-f]{16} · /);
  });

  it('sees what a killed one delegated, also while another process continues it', async () => {
    using place = createPlace(script);
    await using first = await connect(place, 'same');
    const id = await delegate(first, 'hold');
    process.kill(first.pid(), 'SIGKILL');
    await waitForExit(first.pid());
    await using second = await connect(place, 'same');
    expect(readTexts(await second.call('delegate_wait', { ids: [id], seconds: 0 }))[0]).toContain(`run ${id}`);
    const resumed = place.start('resume');
    await place.facts((facts) => facts.some(({ runId, type }) => runId === id && type === 'run.resumed'));
    expect(readTexts(await second.call('delegate_wait', { ids: [id], seconds: 0 }))[0]).toContain(`run ${id}`);
    expect((await place.run('cancel', id)).code).toBe(0);
    await resumed.finished;
  });

  it('does not end paused runs because its own dialect would', async () => {
    using place = createPlace(script);
    await using first = await connect(place, 'same');
    const id = await delegate(first, 'hold');
    await first.client.close();
    await place.until(['ps', '--all'], (runs: { status: string }[]) => runs.every(({ status }) => status === 'paused'));
    await using second = await connect(place, 'same', '--dialect', 'openfork');
    expect(readTexts(await second.call('task_status', { id }))[0]).toMatch(/^Status: (pending|running)/);
    expect(JSON.parse((await place.run('show', id, '--json')).out).status).toBe('paused');
  });

  it('without a name sees only its own runs', async () => {
    using place = createPlace(script);
    await using first = await connect(place, ' ');
    const id = await delegate(first, 'find');
    expect(readTexts(await first.call('delegate_read', { id, part: 'summary' }))[0]).toContain(secret);
    await first.client.close();
    await using second = await connect(place, ' ');
    await expectHidden(second, nativeCalls(id), id);
  });
});

it('a dialect cannot continue a run of somebody else', async () => {
  const followUp: DialectTool<{ id: string }> = {
    name: 'follow_up',
    description: () => 'Continues a run.',
    input: z.strictObject({ id: z.string() }),
    readOnly: false,
    toRequest: ({ id }) => ({ kind: 'delegate', briefs: [{ task: 'and?', continues: id }], waitMs: null }),
    fromReply: (reply) => ({ parts: [{ text: JSON.stringify(reply) }], isError: false }),
  };
  const dialect: Dialect = { name: 'continuing', description: 'continues', tools: [followUp] };
  await using inside = await startInProcess({ script: { runs: [{ times: 'any', steps: [{ text: secret }] }] } }, dialect);
  const other = await inside.world.runtime.start({ task: 'a run of the user' });
  await other.outcome;
  const answer = JSON.stringify(await inside.client.callTool({ name: 'follow_up', arguments: { id: other.id } }));
  expect(answer).toContain('none of your delegated runs');
  expect(answer).not.toContain(secret);
});

it('the tools of a library scope see only what the scope delegated', async () => {
  using place = createPlace(script);
  await using first = await connect(place, 'first');
  const id = await delegate(first, 'find');
  await first.client.close();
  const store = await openSqliteStore({ path: `${place.folder}/.retinue/retinue.db` });
  await using retinue = createRetinue({ model: 'offline/surveyor', store, workspace: place.folder });
  await using scope = retinue.scope({ label: 'first 1' });
  const answer = await scope.tools().delegate_read?.execute({ id, part: 'summary' });
  expect(answer).toContain('none of your delegated runs');
});
