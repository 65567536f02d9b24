// Wrong input on the wire: every request gets one clear error, nothing ends the connection, and standard output has only the protocol.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { bin, createSetup, type Setup } from './support.ts';

interface Wire {
  child: ChildProcessWithoutNullStreams;
  send(text: string): void;
  /** The next message of the agent. */
  next(): Promise<Record<string, unknown>>;
  request(method: string, params?: unknown): Promise<Record<string, unknown>>;
  exited: Promise<number | null>;
  stderr(): string;
  [Symbol.asyncDispose](): Promise<void>;
}

function open(setup: Setup): Wire {
  const child = spawn(process.execPath, [bin, 'acp'], { cwd: setup.home, env: setup.env, stdio: 'pipe' });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const exited = new Promise<number | null>((done) => child.on('close', (code) => done(code)));
  let id = 100;
  const send = (text: string) => void child.stdin.write(`${text}\n`);
  const next = async () => JSON.parse((await lines.next()).value as string);
  return {
    ...{ child, send, next, exited },
    stderr: () => errors,
    request(method, params = {}) {
      send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }));
      return next();
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}

async function openInitialized(setup: Setup): Promise<Wire> {
  const wire = open(setup);
  await wire.request('initialize', { protocolVersion: 1 });
  return wire;
}

const error = (code: number, text: string) => ({ error: { code, message: expect.stringContaining(text) } });

describe('a line', () => {
  it.each([
    ['is not JSON', '{"jsonrpc": "2.0", ', null, -32700, 'not JSON'],
    ['is a batch', '[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', null, -32600, 'batches'],
    ['is no object', '42', null, -32600, '"jsonrpc": "2.0"'],
    ['has no version', '{"id":1,"method":"initialize"}', 1, -32600, '"jsonrpc": "2.0"'],
    ['has no method', '{"jsonrpc":"2.0","id":1}', 1, -32600, '"method"'],
    ['has an invalid id', '{"jsonrpc":"2.0","id":{},"method":"initialize"}', null, -32600, '"id"'],
    ['has invalid params', '{"jsonrpc":"2.0","id":1,"method":"initialize","params":"x"}', 1, -32600, '"params"'],
    ['names an unknown method', '{"jsonrpc":"2.0","id":"a","method":"session/promt"}', 'a', -32601, 'session/prompt'],
    ['names a method of all objects', '{"jsonrpc":"2.0","id":"a","method":"constructor"}', 'a', -32601, 'constructor'],
    ['comes before initialize', '{"jsonrpc":"2.0","id":"a","method":"session/new","params":{}}', 'a', -32600, '`initialize`'],
    [
      'has the wrong type',
      '{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"1"}}',
      'a',
      -32602,
      'protocolVersion',
    ],
  ])('that %s gets an error, and the next one an answer', async (_, line, id, code, text) => {
    await using setup = await createSetup([]);
    await using wire = open(setup);
    wire.send(line);
    expect(await wire.next()).toMatchObject({ id, ...error(code, text) });
    expect(await wire.request('initialize', { protocolVersion: 1 })).toMatchObject({ result: { protocolVersion: 1 } });
  });

  it('that is huge is dropped', async () => {
    await using setup = await createSetup([]);
    await using wire = await openInitialized(setup);
    const part = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 40; n++) if (!wire.child.stdin.write(part)) await new Promise((done) => wire.child.stdin.once('drain', done));
    wire.send('');
    expect(await wire.next()).toMatchObject({ id: null, ...error(-32600, 'longer than 16777216 bytes') });
    expect(await wire.request('session/list', { cwd: setup.folder })).toMatchObject({ result: { sessions: [] } });
  });

  it('that is empty, an unknown notification or an answer to nothing is ignored', async () => {
    await using setup = await createSetup([]);
    await using wire = await openInitialized(setup);
    wire.send('');
    wire.send('{"jsonrpc":"2.0","method":"$/whatever"}');
    wire.send('{"jsonrpc":"2.0","method":"_vendor/event","params":[1]}');
    wire.send('{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}');
    wire.send('{"jsonrpc":"2.0","id":"retinue-1","result":{}}');
    wire.send('{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"nothing"}}');
    expect(await wire.request('session/list', { cwd: setup.folder })).toMatchObject({ result: { sessions: [] } });
  });
});

describe('a session', () => {
  it.each([
    ['a relative folder', { cwd: 'work', mcpServers: [] }, 'params.cwd: must be an absolute path'],
    ['a missing folder', { cwd: '/does/not/exist', mcpServers: [] }, '/does/not/exist'],
    ['no list of servers', { cwd: '/' }, 'params.mcpServers'],
    ['a server without a command', { cwd: '/', mcpServers: [{ name: 'x' }] }, 'params.mcpServers.0'],
  ])('with %s is refused', async (_, params, text) => {
    await using setup = await createSetup([]);
    await using wire = await openInitialized(setup);
    expect(await wire.request('session/new', params)).toMatchObject(error(-32602, text));
  });

  it('in a folder with an invalid configuration is refused with the reason', async () => {
    await using setup = await createSetup([]);
    await using wire = await openInitialized(setup);
    writeFileSync(join(setup.folder, 'retinue.config.json'), '{ "modle": "x" }');
    expect(await wire.request('session/new', { cwd: setup.folder, mcpServers: [] })).toMatchObject(error(-32602, 'modle'));
  });

  it('that is not open, empty prompts and unknown blocks are refused', async () => {
    await using setup = await createSetup([]);
    await using wire = await openInitialized(setup);
    const prompt = (sessionId: string, blocks: unknown) => wire.request('session/prompt', { sessionId, prompt: blocks });
    expect(await prompt('nothing', [{ type: 'text', text: 'x' }])).toMatchObject(error(-32002, 'not open'));
    const { result } = await wire.request('session/new', { cwd: setup.folder, mcpServers: [] });
    const { sessionId } = result as { sessionId: string };
    expect(await prompt(sessionId, [])).toMatchObject(error(-32602, 'params.prompt'));
    expect(await prompt(sessionId, [{ type: 'text', text: '  ' }])).toMatchObject(error(-32602, 'empty'));
    expect(await prompt(sessionId, [{ type: 'hologram' }])).toMatchObject(error(-32602, 'params.prompt.0.type'));
    const blob = { uri: 'x:y', blob: Buffer.from([0, 255, 1]).toString('base64') };
    expect(await prompt(sessionId, [{ type: 'resource', resource: blob }])).toMatchObject(error(-32602, 'binary'));
  });

  it('gets an answer for every open request id, and an error for a second one', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await using setup = await createSetup(() => released.then(() => ({ text: 'slow' })));
    await using wire = await openInitialized(setup);
    const { result } = await wire.request('session/new', { cwd: setup.folder, mcpServers: [] });
    const params = { ...(result as { sessionId: string }), prompt: [{ type: 'text', text: 'x' }] };
    wire.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session/prompt', params }));
    wire.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session/prompt', params }));
    expect(await wire.next()).toMatchObject({ id: 1, ...error(-32600, 'open already') });
    release();
    for (;;) {
      const message = await wire.next();
      if ('method' in message) continue;
      expect(message).toMatchObject({ id: 1, result: { stopReason: 'end_turn' } });
      break;
    }
  });

  it('without a model says what to do', async () => {
    await using setup = await createSetup([]);
    setup.env = { PATH: setup.env.PATH as string, HOME: setup.home };
    await using wire = await openInitialized(setup);
    const { result } = await wire.request('session/new', { cwd: setup.folder, mcpServers: [] });
    const params = { ...(result as { sessionId: string }), prompt: [{ type: 'text', text: 'x' }] };
    expect(await wire.request('session/prompt', params)).toMatchObject(error(-32602, 'model'));
  });
});

describe('a client that does not read', () => {
  it('does not stop the run, and gets everything when it reads again', async () => {
    const text = 'A sentence of an answer that nobody reads. '.repeat(20_000);
    await using setup = await createSetup([{ text, chunkSize: 4096 }]);
    const child = spawn(process.execPath, [bin, 'acp'], { cwd: setup.home, env: setup.env, stdio: 'pipe' });
    const lines: Record<string, unknown>[] = [];
    const reader = createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
    const until = async (holds: () => boolean) => {
      while (!holds()) await new Promise((done) => setTimeout(done, 5));
    };
    const send = (id: number, method: string, params: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    send(1, 'initialize', { protocolVersion: 1 });
    send(2, 'session/new', { cwd: setup.folder, mcpServers: [] });
    await until(() => lines.length === 2);
    reader.pause();
    send(3, 'session/prompt', { ...(lines[1]?.result as object), prompt: [{ type: 'text', text: 'Talk' }] });
    await setup.facts((facts) => facts.some(({ type }) => type === 'run.ended'));
    reader.resume();
    await until(() => lines.at(-1)?.id === 3);
    const chunks = lines.flatMap(({ params }) => {
      const { update } = (params ?? {}) as { update?: { sessionUpdate: string; content: { text: string } } };
      return update?.sessionUpdate === 'agent_message_chunk' ? [update.content.text] : [];
    });
    expect(chunks.join('') === text).toBe(true);
    // Pieces that waited were sent together.
    expect(chunks.length).toBeLessThan(text.length / 4096);
    child.stdin.end();
    await new Promise((done) => child.once('close', done));
  });
});

describe('everything at once', () => {
  it('is answered although the input ends at once', async () => {
    await using setup = await createSetup([]);
    await using wire = open(setup);
    wire.send('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}');
    wire.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'session/new', params: { cwd: setup.folder, mcpServers: [] } }));
    wire.child.stdin.end();
    expect([await wire.next(), await wire.next()]).toMatchObject([
      { id: 1, result: {} },
      { id: 2, result: { sessionId: expect.any(String) } },
    ]);
    expect(await wire.exited).toBe(0);
    expect(wire.stderr()).toBe('');
  });

  it.each([0, 1, 20, 60, 120])('starts nothing that would keep the process, if the input ends %d ms after a prompt', async (ms) => {
    await using setup = await createSetup(() => ({ fault: { kind: 'no-first-byte' } }));
    await using wire = await openInitialized(setup);
    const { result } = await wire.request('session/new', { cwd: setup.folder, mcpServers: [] });
    const params = { ...(result as { sessionId: string }), prompt: [{ type: 'text', text: 'x' }] };
    wire.send(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'session/prompt', params }));
    setTimeout(() => wire.child.stdin.end(), ms);
    // The exit code would be 1 if it took longer than 5 s.
    expect(await wire.exited).toBe(0);
    expect(wire.stderr()).toMatch(/^(retinue: 1 run was paused; .*\n)?$/);
  });
});
