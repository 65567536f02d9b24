// Ralph over MCP: the real program, the official client, and each subagent in its own process.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTexts, waitForExit } from './support.ts';
import {
  findTool,
  getFirstMessage,
  getToolNames,
  hex16,
  isAlive,
  listDescendants,
  parseStructured,
  startDialectServer,
} from './support-dialect.ts';

interface Spawned {
  subagent_id: string;
  status: string;
  result: string | null;
}

const runs = (pid: number) => listDescendants(pid).filter(({ command }) => command.includes('--child-run'));

describe('the tools', () => {
  it('have the names, parameters and results of the source', async () => {
    await using server = await startDialectServer('ralph');
    const { tools } = await server.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['subagent', 'subagent_status']);
    const subagent = await findTool(server.client, 'subagent');
    expect([Object.keys(subagent.inputSchema.properties), subagent.inputSchema.required]).toEqual([['task', 'context'], ['task']]);
    expect(subagent.description).toMatch(/At most 5 run at the same time, each for at most 300 seconds/);
    const status = await findTool(server.client, 'subagent_status');
    expect([Object.keys(status.inputSchema.properties), status.inputSchema.required]).toEqual([['subagent_id', 'wait'], ['subagent_id']]);
    expect(status.inputSchema.properties.wait?.default).toBe(false);
    expect(status.outputSchema?.required).toEqual(['subagent_id', 'status', 'progress', 'result', 'error']);
  });

  it('refuse wrong parameters by name', async () => {
    await using server = await startDialectServer('ralph');
    const wrong: [tool: string, args: object, said: RegExp][] = [
      ['subagent', {}, /task/],
      ['subagent', { task: 7 }, /task/],
      ['subagent', { task: 'x', contxt: 'y' }, /contxt.*context/s],
      ['subagent_status', {}, /subagent_id/],
      ['subagent_status', { subagent_id: '0123456789abcdef', wait: 'yes' }, /wait/],
    ];
    for (const [tool, args, said] of wrong) {
      const result = await server.call(tool, args);
      expect([result.isError, JSON.stringify(result.content)]).toEqual([true, expect.stringMatching(said)]);
    }
    const empty = await server.call('subagent', { task: '  ' });
    expect(empty.isError).toBe(true);
    expect(parseStructured(empty)).toEqual({ subagent_id: null, status: 'failed', result: null, error: expect.stringMatching(/^task: /) });
    const unknown = await server.call('subagent_status', { subagent_id: '0123456789abcdef' });
    expect(unknown.isError).toBe(true);
    expect(JSON.stringify(parseStructured(unknown))).toBe(
      '{"subagent_id":"0123456789abcdef","status":"failed","progress":null,"result":null,"error":"Subagent not found"}',
    );
  });
});

describe('a subagent', () => {
  it('answers as in the source: an id immediately, a progress line, the result when asked to wait, and the same result again', async () => {
    const steps = [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'There are three tests.' }];
    await using server = await startDialectServer('ralph', { answers: { count: steps }, held: ['count'] });
    const spawned = parseStructured<Spawned>(await server.call('subagent', { task: 'count the tests', context: 'they are in test/' }));
    expect(JSON.stringify(spawned)).toBe(`{"subagent_id":"${spawned.subagent_id}","status":"${spawned.status}","result":null}`);
    expect(spawned.subagent_id).toMatch(hex16);
    expect(spawned.status).toMatch(/^(pending|running)$/);
    await server.asked('count');
    const { subagent_id } = spawned;
    expect(parseStructured(await server.call('subagent_status', { subagent_id }))).toEqual({
      subagent_id,
      status: 'running',
      progress: 'turn 1: thinking',
      result: null,
      error: null,
    });
    expect(parseStructured(await server.call('subagent_status', { subagent_id: `${subagent_id}@0` }))).toMatchObject({
      status: 'running',
      result: null,
    });
    server.release('count');
    const ended = parseStructured(await server.call('subagent_status', { subagent_id, wait: true }));
    expect(JSON.stringify(ended)).toBe(
      `{"subagent_id":"${subagent_id}","status":"completed","progress":null,"result":"There are three tests.","error":null}`,
    );
    expect(parseStructured(await server.call('subagent_status', { subagent_id }))).toEqual(ended);
    const [first] = server.findRequests('count');
    expect(first && getFirstMessage(first)).toBe('Context: they are in test/\n\nTask: count the tests');
  });

  it('has neither tool', async () => {
    const nested = [{ calls: [{ tool: 'subagent', args: { task: 'more' } }] }, { text: 'I am alone' }];
    await using server = await startDialectServer('ralph', { answers: { nested } });
    const { subagent_id } = parseStructured<Spawned>(await server.call('subagent', { task: 'nested' }));
    expect(parseStructured(await server.call('subagent_status', { subagent_id, wait: true }))).toMatchObject({ status: 'completed' });
    const offered = server.findRequests('nested').map(getToolNames);
    expect(offered[0]).toContain('read');
    expect(offered.flat().filter((name) => name.startsWith('subagent'))).toEqual([]);
    expect(JSON.stringify(server.findRequests('nested')[1]?.body.messages)).toMatch(/not available/);
  });

  it('an unreported end is included in the next result', async () => {
    await using server = await startDialectServer('ralph', { answers: { quick: { text: 'all is well' }, other: { text: 'x' } } });
    const { subagent_id } = parseStructured<Spawned>(await server.call('subagent', { task: 'quick' }));
    await server.place.until(['show', subagent_id], (run: { status: string }) => run.status === 'completed');
    const next = await server.call('subagent', { task: 'other' });
    expect(next.content[1]).toMatchObject({ text: expect.stringContaining(`[run ${subagent_id} · completed · 1 turn]\nall is well`) });
  });
});

it('`retinue show` has the pid of the subagent’s process while it runs', async () => {
  await using server = await startDialectServer('ralph', { answers: { work: { text: 'done' } }, held: ['work'] });
  const { subagent_id } = parseStructured<Spawned>(await server.call('subagent', { task: 'work' }));
  await server.asked('work');
  const show = async () => JSON.parse((await server.place.run('show', subagent_id, '--json')).out) as { pid?: number };
  const { pid } = await show();
  expect(runs(server.pid()).map((each) => each.pid)).toContain(pid);
  expect((await server.place.run('show', subagent_id)).out).toMatch(
    new RegExp(`^pid +${pid} \\(its own process\\), driven by ${server.pid()}$`, 'm'),
  );
  server.release('work');
  await server.call('subagent_status', { subagent_id, wait: true });
  expect(await show()).not.toHaveProperty('pid');
});

it.each([
  ['`max_result_bytes`', { dialects: { ralph: { max_result_bytes: 4000 } } }, 4700],
  ['`limits.maxOutputBytes`', { limits: { maxOutputBytes: 1000 } }, 1000],
])('a long result is read in parts of the size that %s says', async (_, config, maxBytes) => {
  const long = Array.from({ length: 900 }, (_, n) => `line ${n} é`).join('\n');
  await using server = await startDialectServer('ralph', { answers: { long: { text: long, chunkSize: 2000 } }, config });
  const { subagent_id } = parseStructured<Spawned>(await server.call('subagent', { task: 'long' }));
  let [asked, read]: [string | undefined, string] = [subagent_id, ''];
  while (asked !== undefined) {
    const answer = await server.call('subagent_status', { subagent_id: asked, wait: true });
    const { status, result } = parseStructured<Spawned>(answer);
    const [notes = '']: string[] = /(\n\[(truncated: kept|characters) [^\]]+\])?(\n\[the rest: .*\])?$/.exec(result ?? '') ?? [];
    if (asked === subagent_id) expect(notes).toContain(` of ${Buffer.byteLength(long)} bytes]`);
    read += (result ?? '').slice(0, (result ?? '').length - notes.length);
    expect(status).toBe('completed');
    expect(Buffer.byteLength(readTexts(answer)[0] ?? '')).toBeLessThanOrEqual(maxBytes);
    asked = /"subagent_id":"([^"]+)"/.exec(notes)?.[1];
  }
  expect(read).toBe(long);
  const again = await server.call('subagent_status', { subagent_id: `${subagent_id}@0` });
  expect(parseStructured<Spawned>(again).result).toMatch(/\n\[characters 0 to \d+ of \d+\]\n\[the rest: .*\]$/);
});

describe('how outcomes are shown', () => {
  it('exhausted: failed, with the partial result', async () => {
    const far = [{ text: 'I begin.', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'as far as I came' }];
    await using server = await startDialectServer('ralph', { answers: { far }, args: ['--max-turns', '1'] });
    const { subagent_id } = parseStructured<Spawned>(await server.call('subagent', { task: 'far' }));
    expect(parseStructured(await server.call('subagent_status', { subagent_id, wait: true }))).toEqual({
      subagent_id,
      status: 'failed',
      progress: null,
      result: 'as far as I came',
      error: expect.stringMatching(/^Subagent process failed: max_turns: /),
    });
  });

  it('cancelled and failed: failed, with the reason', async () => {
    const denied = { fault: { kind: 'status' as const, status: 401, message: 'bad key' } };
    await using server = await startDialectServer('ralph', { answers: { stopped: { text: 'never' }, denied }, held: ['stopped'] });
    const [stopped, failed] = [await server.call('subagent', { task: 'stopped' }), await server.call('subagent', { task: 'denied' })];
    await server.asked('stopped');
    await server.cancelRun('stopped');
    const statusOf = async (spawned: typeof stopped) =>
      parseStructured(
        await server.call('subagent_status', { subagent_id: parseStructured<Spawned>(spawned).subagent_id, wait: true }).then(firstBlock),
      );
    expect(await statusOf(failed)).toMatchObject({ status: 'failed', result: null, error: expect.stringMatching(/bad key|401/) });
    expect(await statusOf(stopped)).toMatchObject({ status: 'failed', result: null, error: 'cancelled' });
  });
});

/** Without the block about other runs that have ended. */
function firstBlock<T extends { content: unknown[] }>(result: T): T {
  return { ...result, content: result.content.slice(0, 1) };
}

describe.runIf(process.platform === 'linux')('a subagent process', () => {
  it('test_subagent_status_timeout: killed together with its commands', async () => {
    const long = { text: 'I sleep.', calls: [{ tool: 'bash', args: { command: 'exec sleep 600' } }] };
    await using server = await startDialectServer('ralph', {
      answers: { long },
      args: ['--allow', 'bash'],
      config: { dialects: { ralph: { subagent_timeout: 4 } } },
    });
    const { subagent_id } = parseStructured<Spawned>(await server.call('subagent', { task: 'long' }));
    const told = parseStructured(await server.call('subagent_status', { subagent_id, wait: true }));
    expect(told).toEqual({ subagent_id, status: 'timeout', progress: null, result: 'I sleep.', error: 'Subagent timed out' });
    expect(listDescendants(server.pid())).toEqual([]);
  });

  it('is another process than the server; killed with -9 it is failed with the signal, its text is kept, and others continue', async () => {
    const victim = { text: 'I begin.', calls: [{ tool: 'bash', args: { command: 'echo here > begun; exec sleep 600' } }] };
    await using server = await startDialectServer('ralph', {
      answers: { victim, sibling: { text: 'fine' } },
      held: ['sibling'],
      args: ['--allow', 'bash'],
    });
    const { subagent_id } = parseStructured<Spawned>(await server.call('subagent', { task: 'victim' }));
    await expect.poll(() => existsSync(join(server.place.folder, 'begun')), { timeout: 10_000 }).toBe(true);
    const pid = runs(server.pid())[0]?.pid as number;
    expect(pid).not.toBe(server.pid());
    const sibling = parseStructured<Spawned>(await server.call('subagent', { task: 'sibling' }));
    const live = parseStructured<{ progress: string }>(await server.call('subagent_status', { subagent_id }));
    expect(live.progress).toBe('turn 1: tool bash');
    process.kill(pid, 'SIGKILL');
    expect(parseStructured(await server.call('subagent_status', { subagent_id, wait: true }))).toEqual({
      subagent_id,
      status: 'failed',
      progress: null,
      result: 'I begin.',
      error: expect.stringMatching(/^Subagent process failed: .*SIGKILL/),
    });
    server.release('sibling');
    expect(parseStructured(await server.call('subagent_status', { subagent_id: sibling.subagent_id, wait: true }))).toMatchObject({
      status: 'completed',
      result: 'fine',
    });
  });

  it('five at once, the sixth refused; a new one can start when one has ended', async () => {
    const answers = { first: { text: 'done' }, busy: { text: 'done' } };
    await using server = await startDialectServer('ralph', { answers, held: ['first', 'busy'] });
    const one = parseStructured<Spawned>(await server.call('subagent', { task: 'first' }));
    for (const n of [2, 3, 4, 5]) parseStructured(await server.call('subagent', { task: `busy ${n}` }));
    await expect.poll(() => runs(server.pid()).length, { timeout: 10_000 }).toBe(5);
    const sixth = await server.call('subagent', { task: 'busy 6' });
    expect(sixth.isError).toBe(true);
    expect(parseStructured(sixth)).toEqual({
      subagent_id: null,
      status: 'failed',
      result: null,
      error: 'Too many subagents: 5 are running (max_subagents); wait for one to end',
    });
    server.release('first');
    parseStructured(await server.call('subagent_status', { subagent_id: one.subagent_id, wait: true }));
    expect(parseStructured(await server.call('subagent', { task: 'busy 7' }))).toMatchObject({ subagent_id: expect.stringMatching(hex16) });
  });

  it('the limits that apply are those that tools and refusals name', async () => {
    const answers = { busy: { text: 'done' } };
    await using server = await startDialectServer('ralph', {
      answers,
      held: ['busy'],
      args: ['--max-concurrent', '2', '--timeout', '90s'],
    });
    const { description } = await findTool(server.client, 'subagent');
    expect(description).toMatch(/At most 2 run at the same time, each for at most 90 seconds/);
    for (const n of [1, 2]) parseStructured(await server.call('subagent', { task: `busy ${n}` }));
    expect(parseStructured(await server.call('subagent', { task: 'busy 3' }))).toMatchObject({
      error: 'Too many subagents: 2 are running (max_subagents); wait for one to end',
    });
    await using lower = await startDialectServer('ralph', { config: { limits: { maxConcurrent: 4 } } });
    expect((await findTool(lower.client, 'subagent')).description).toMatch(/At most 4 run at the same time, each for at most 300 seconds/);
  });

  it('the limits of a workspace that is not trusted allow no sixth', async () => {
    const files = { 'retinue.config.json': JSON.stringify({ limits: { maxConcurrent: 7 } }) };
    await using server = await startDialectServer('ralph', { answers: { busy: { text: 'done' } }, held: ['busy'], files });
    for (const n of [1, 2, 3, 4, 5]) expect((await server.call('subagent', { task: `busy ${n}` })).isError).toBeUndefined();
    expect((await server.call('subagent', { task: 'busy 6' })).isError).toBe(true);
  });

  it('a result is readable after a restart of the server; a server killed with -9 leaves no process, and its subagents failed', async () => {
    const cut = { calls: [{ tool: 'bash', args: { command: 'echo $PPID > pid; (sleep 600 &); exec sleep 600' } }] };
    await using server = await startDialectServer('ralph', {
      answers: { early: { text: 'early result' }, cut },
      args: ['--allow', 'bash'],
    });
    const early = parseStructured<Spawned>(await server.call('subagent', { task: 'early' }));
    const before = parseStructured(await server.call('subagent_status', { subagent_id: early.subagent_id, wait: true }));
    const late = parseStructured<Spawned>(await server.call('subagent', { task: 'cut' }));
    const file = join(server.place.folder, 'pid');
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8').trim(), { timeout: 10_000 }).toMatch(/^\d+$/);
    const below = listDescendants(server.pid());
    expect(below.length).toBeGreaterThan(1);
    process.kill(server.pid(), 'SIGKILL');
    await waitForExit(server.pid());
    await expect.poll(() => below.filter(({ pid }) => isAlive(pid)), { timeout: 10_000 }).toEqual([]);
    await using next = await server.startAgain();
    expect(parseStructured(await next.call('subagent_status', { subagent_id: early.subagent_id }))).toEqual(before);
    expect(parseStructured(await next.call('subagent_status', { subagent_id: late.subagent_id, wait: true }))).toMatchObject({
      status: 'failed',
      error: 'cancelled',
    });
  });

  it('a client that closes leaves no process', async () => {
    const cut = { calls: [{ tool: 'bash', args: { command: 'echo $PPID > pid; (setsid sleep 600 &); exec sleep 600' } }] };
    await using server = await startDialectServer('ralph', { answers: { cut }, args: ['--allow', 'bash'] });
    parseStructured(await server.call('subagent', { task: 'cut' }));
    const file = join(server.place.folder, 'pid');
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8').trim(), { timeout: 10_000 }).toMatch(/^\d+$/);
    const [pid, below] = [server.pid(), listDescendants(server.pid())];
    await server.client.close();
    await waitForExit(pid);
    expect(below.filter((each) => isAlive(each.pid))).toEqual([]);
    expect((await server.findRun('cut')).outcome).toMatchObject({ status: 'cancelled', terminated: 'client_gone' });
  });
});

it('a client that gives up a wait after its timeout loses nothing: the result is readable by its id', async () => {
  await using server = await startDialectServer('ralph', { answers: { slow: { text: 'the slow finding' } }, held: ['slow'] });
  const { subagent_id } = parseStructured<Spawned>(await server.call('subagent', { task: 'slow' }));
  await expect(server.call('subagent_status', { subagent_id, wait: true }, { timeout: 1000 })).rejects.toThrow(/timed out/i);
  server.release('slow');
  expect(parseStructured(await server.call('subagent_status', { subagent_id, wait: true }))).toMatchObject({
    status: 'completed',
    result: 'the slow finding',
  });
});
