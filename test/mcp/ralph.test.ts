// Ralph over MCP: the real program, the official client, each subagent in a process of its own.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { processEnded } from './support.ts';
import { alive, descendants, firstMessage, hex16, jsonOf, startDialect, toolOf, toolsOf } from './support-dialect.ts';

interface Spawned {
  subagent_id: string;
  status: string;
  result: string | null;
}

const runs = (pid: number) => descendants(pid).filter(({ command }) => command.includes('--child-run'));

describe('the tools', () => {
  it('have the names, parameters and results of the page', async () => {
    await using server = await startDialect('ralph');
    const { tools } = await server.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['subagent', 'subagent_status']);
    const subagent = await toolOf(server.client, 'subagent');
    expect([Object.keys(subagent.inputSchema.properties), subagent.inputSchema.required]).toEqual([['task', 'context'], ['task']]);
    expect(subagent.description).toMatch(/At most 5 run at a time, each for at most 300 seconds/);
    const status = await toolOf(server.client, 'subagent_status');
    expect([Object.keys(status.inputSchema.properties), status.inputSchema.required]).toEqual([['subagent_id', 'wait'], ['subagent_id']]);
    expect(status.inputSchema.properties.wait?.default).toBe(false);
    expect(status.outputSchema?.required).toEqual(['subagent_id', 'status', 'progress', 'result', 'error']);
  });

  it('refuse what is wrong by its name', async () => {
    await using server = await startDialect('ralph');
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
    expect(jsonOf(empty)).toEqual({ subagent_id: null, status: 'failed', result: null, error: expect.stringMatching(/^task: /) });
    const unknown = await server.call('subagent_status', { subagent_id: '0123456789abcdef' });
    expect(unknown.isError).toBe(true);
    expect(JSON.stringify(jsonOf(unknown))).toBe(
      '{"subagent_id":"0123456789abcdef","status":"failed","progress":null,"result":null,"error":"Subagent not found"}',
    );
  });
});

describe('a subagent', () => {
  it('answers as the page shows: an id at once, a live line, the result when asked to wait, and the same again', async () => {
    const steps = [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'There are three tests.' }];
    await using server = await startDialect('ralph', { answers: { count: steps }, held: ['count'] });
    const spawned = jsonOf<Spawned>(await server.call('subagent', { task: 'count the tests', context: 'they are in test/' }));
    expect(JSON.stringify(spawned)).toBe(`{"subagent_id":"${spawned.subagent_id}","status":"${spawned.status}","result":null}`);
    expect(spawned.subagent_id).toMatch(hex16);
    expect(spawned.status).toMatch(/^(pending|running)$/);
    await server.asked('count');
    const { subagent_id } = spawned;
    expect(jsonOf(await server.call('subagent_status', { subagent_id }))).toEqual({
      subagent_id,
      status: 'running',
      progress: 'turn 1: thinking',
      result: null,
      error: null,
    });
    server.release('count');
    const ended = jsonOf(await server.call('subagent_status', { subagent_id, wait: true }));
    expect(JSON.stringify(ended)).toBe(
      `{"subagent_id":"${subagent_id}","status":"completed","progress":null,"result":"There are three tests.","error":null}`,
    );
    expect(jsonOf(await server.call('subagent_status', { subagent_id }))).toEqual(ended);
    const [first] = server.requests('count');
    expect(first && firstMessage(first)).toBe('Context: they are in test/\n\nTask: count the tests');
  });

  it('has neither tool', async () => {
    const nested = [{ calls: [{ tool: 'subagent', args: { task: 'more' } }] }, { text: 'I am alone' }];
    await using server = await startDialect('ralph', { answers: { nested } });
    const { subagent_id } = jsonOf<Spawned>(await server.call('subagent', { task: 'nested' }));
    expect(jsonOf(await server.call('subagent_status', { subagent_id, wait: true }))).toMatchObject({ status: 'completed' });
    const offered = server.requests('nested').map(toolsOf);
    expect(offered[0]).toContain('read');
    expect(offered.flat().filter((name) => name.startsWith('subagent'))).toEqual([]);
    expect(JSON.stringify(server.requests('nested')[1]?.body.messages)).toMatch(/not available/);
  });

  it('what is left untold stands in the next result', async () => {
    await using server = await startDialect('ralph', { answers: { quick: { text: 'all is well' }, other: { text: 'x' } } });
    const { subagent_id } = jsonOf<Spawned>(await server.call('subagent', { task: 'quick' }));
    await server.place.until(['show', subagent_id], (run: { status: string }) => run.status === 'completed');
    const next = await server.call('subagent', { task: 'other' });
    expect(next.content[1]).toMatchObject({ text: expect.stringContaining(`[run ${subagent_id} · completed · 1 turn]\nall is well`) });
  });
});

describe('how an outcome reads', () => {
  it('exhausted: failed, the partial result kept', async () => {
    const far = [{ text: 'I begin.', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'as far as I came' }];
    await using server = await startDialect('ralph', { answers: { far }, args: ['--max-turns', '1'] });
    const { subagent_id } = jsonOf<Spawned>(await server.call('subagent', { task: 'far' }));
    expect(jsonOf(await server.call('subagent_status', { subagent_id, wait: true }))).toEqual({
      subagent_id,
      status: 'failed',
      progress: null,
      result: 'as far as I came',
      error: expect.stringMatching(/^max_turns: /),
    });
  });

  it('cancelled and failed: failed, with the reason', async () => {
    const denied = { fault: { kind: 'status' as const, status: 401, message: 'bad key' } };
    await using server = await startDialect('ralph', { answers: { stopped: { text: 'never' }, denied }, held: ['stopped'] });
    const [stopped, failed] = [await server.call('subagent', { task: 'stopped' }), await server.call('subagent', { task: 'denied' })];
    await server.asked('stopped');
    await server.cancelled('stopped');
    const statusOf = async (spawned: typeof stopped) =>
      jsonOf(await server.call('subagent_status', { subagent_id: jsonOf<Spawned>(spawned).subagent_id, wait: true }).then(firstBlock));
    expect(await statusOf(failed)).toMatchObject({ status: 'failed', result: null, error: expect.stringMatching(/bad key|401/) });
    expect(await statusOf(stopped)).toMatchObject({ status: 'failed', result: null, error: 'cancelled' });
  });
});

/** Without the block for what else has ended. */
function firstBlock<T extends { content: unknown[] }>(result: T): T {
  return { ...result, content: result.content.slice(0, 1) };
}

describe.runIf(process.platform === 'linux')('a process of its own', () => {
  it('test_subagent_status_timeout: killed, and its commands with it', async () => {
    const long = { text: 'I sleep.', calls: [{ tool: 'bash', args: { command: 'exec sleep 600' } }] };
    await using server = await startDialect('ralph', {
      answers: { long },
      args: ['--allow', 'bash'],
      config: { dialects: { ralph: { subagent_timeout: 4 } } },
    });
    const { subagent_id } = jsonOf<Spawned>(await server.call('subagent', { task: 'long' }));
    const told = jsonOf(await server.call('subagent_status', { subagent_id, wait: true }));
    expect(told).toEqual({ subagent_id, status: 'timeout', progress: null, result: 'I sleep.', error: 'Subagent timed out' });
    expect(descendants(server.pid())).toEqual([]);
  });

  it('is another process than the server; killed with -9 it is failed with the signal, what it said is kept, and others go on', async () => {
    const victim = { text: 'I begin.', calls: [{ tool: 'bash', args: { command: 'echo here > begun; exec sleep 600' } }] };
    await using server = await startDialect('ralph', {
      answers: { victim, sibling: { text: 'fine' } },
      held: ['sibling'],
      args: ['--allow', 'bash'],
    });
    const { subagent_id } = jsonOf<Spawned>(await server.call('subagent', { task: 'victim' }));
    await expect.poll(() => existsSync(join(server.place.folder, 'begun')), { timeout: 10_000 }).toBe(true);
    const pid = runs(server.pid())[0]?.pid as number;
    expect(pid).not.toBe(server.pid());
    const sibling = jsonOf<Spawned>(await server.call('subagent', { task: 'sibling' }));
    const live = jsonOf<{ progress: string }>(await server.call('subagent_status', { subagent_id }));
    expect(live.progress).toBe('turn 1: tool bash');
    process.kill(pid, 'SIGKILL');
    expect(jsonOf(await server.call('subagent_status', { subagent_id, wait: true }))).toEqual({
      subagent_id,
      status: 'failed',
      progress: null,
      result: 'I begin.',
      error: expect.stringMatching(/^Subagent process failed: .*SIGKILL/),
    });
    server.release('sibling');
    expect(jsonOf(await server.call('subagent_status', { subagent_id: sibling.subagent_id, wait: true }))).toMatchObject({
      status: 'completed',
      result: 'fine',
    });
  });

  it('five at once, the sixth refused; a place is free when one has ended', async () => {
    const answers = { first: { text: 'done' }, busy: { text: 'done' } };
    await using server = await startDialect('ralph', { answers, held: ['first', 'busy'] });
    const one = jsonOf<Spawned>(await server.call('subagent', { task: 'first' }));
    for (const n of [2, 3, 4, 5]) jsonOf(await server.call('subagent', { task: `busy ${n}` }));
    await expect.poll(() => runs(server.pid()).length, { timeout: 10_000 }).toBe(5);
    const sixth = await server.call('subagent', { task: 'busy 6' });
    expect(sixth.isError).toBe(true);
    expect(jsonOf(sixth)).toEqual({
      subagent_id: null,
      status: 'failed',
      result: null,
      error: 'Too many subagents: 5 are running (max_subagents); wait for one to end',
    });
    server.release('first');
    jsonOf(await server.call('subagent_status', { subagent_id: one.subagent_id, wait: true }));
    expect(jsonOf(await server.call('subagent', { task: 'busy 7' }))).toMatchObject({ subagent_id: expect.stringMatching(hex16) });
  });

  it('a result is readable after a restart of the server; a server killed with -9 leaves no process, and its subagents failed', async () => {
    const cut = { calls: [{ tool: 'bash', args: { command: 'echo $PPID > pid; (sleep 600 &); exec sleep 600' } }] };
    await using server = await startDialect('ralph', { answers: { early: { text: 'early result' }, cut }, args: ['--allow', 'bash'] });
    const early = jsonOf<Spawned>(await server.call('subagent', { task: 'early' }));
    const before = jsonOf(await server.call('subagent_status', { subagent_id: early.subagent_id, wait: true }));
    const late = jsonOf<Spawned>(await server.call('subagent', { task: 'cut' }));
    const file = join(server.place.folder, 'pid');
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8').trim(), { timeout: 10_000 }).toMatch(/^\d+$/);
    const below = descendants(server.pid());
    expect(below.length).toBeGreaterThan(1);
    process.kill(server.pid(), 'SIGKILL');
    await processEnded(server.pid());
    await expect.poll(() => below.filter(({ pid }) => alive(pid)), { timeout: 10_000 }).toEqual([]);
    await using next = await server.again();
    expect(jsonOf(await next.call('subagent_status', { subagent_id: early.subagent_id }))).toEqual(before);
    expect(jsonOf(await next.call('subagent_status', { subagent_id: late.subagent_id, wait: true }))).toMatchObject({
      status: 'failed',
      error: 'cancelled',
    });
  });

  it('a client that closes leaves no process', async () => {
    const cut = { calls: [{ tool: 'bash', args: { command: 'echo $PPID > pid; (setsid sleep 600 &); exec sleep 600' } }] };
    await using server = await startDialect('ralph', { answers: { cut }, args: ['--allow', 'bash'] });
    jsonOf(await server.call('subagent', { task: 'cut' }));
    const file = join(server.place.folder, 'pid');
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8').trim(), { timeout: 10_000 }).toMatch(/^\d+$/);
    const [pid, below] = [server.pid(), descendants(server.pid())];
    await server.client.close();
    await processEnded(pid);
    expect(below.filter((each) => alive(each.pid))).toEqual([]);
    expect((await server.shown('cut')).outcome).toMatchObject({ status: 'cancelled', terminated: 'client_gone' });
  });
});

it('a client that gives up a wait after its timeout loses nothing: the result is readable by its id', async () => {
  await using server = await startDialect('ralph', { answers: { slow: { text: 'the slow finding' } }, held: ['slow'] });
  const { subagent_id } = jsonOf<Spawned>(await server.call('subagent', { task: 'slow' }));
  await expect(server.call('subagent_status', { subagent_id, wait: true }, { timeout: 1000 })).rejects.toThrow(/timed out/i);
  server.release('slow');
  expect(jsonOf(await server.call('subagent_status', { subagent_id, wait: true }))).toMatchObject({
    status: 'completed',
    result: 'the slow finding',
  });
});
