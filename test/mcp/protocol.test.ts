// Invalid messages: requests get an error, notifications nothing, and the session continues.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { bin, createTemporaryFolder } from './support.ts';

interface Raw {
  child: ChildProcess;
  write(line: string): void;
  /** The next line of standard output, parsed as JSON. */
  next(): Promise<{ id?: unknown; error?: { code: number; message: string }; result?: Record<string, unknown> }>;
  left: Promise<number | null>;
}

const opened: { folder: { [Symbol.dispose](): void }; child: ChildProcess }[] = [];
afterEach(() => {
  for (const { folder, child } of opened.splice(0)) {
    child.kill('SIGKILL');
    folder[Symbol.dispose]();
  }
});

function start(): Raw {
  const folder = createTemporaryFolder({ 'script.json': JSON.stringify({ runs: [{ times: 'any', steps: [{ text: 'fine' }] }] }) });
  const env = { PATH: process.env.PATH, HOME: folder.folder, RETINUE_MODEL: 'script/script.json' };
  const child = spawn(process.execPath, [bin, 'mcp'], { cwd: folder.folder, env, stdio: ['pipe', 'pipe', 'ignore'] });
  opened.push({ folder, child });
  child.stdin.on('error', () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    write: (line) => void child.stdin.write(`${line}\n`),
    next: async () => JSON.parse((await lines.next()).value as string),
    left: new Promise((resolve) => child.on('close', resolve)),
  };
}

const initialize = {
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
};

const abuses: [what: string, line: string, id: unknown, code: number, message: RegExp][] = [
  ['bad JSON', '{"jsonrpc": "2.0", ', null, -32700, /not JSON/],
  ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', null, -32600, /batches/],
  ['an empty batch', '[]', null, -32600, /batches/],
  ['a number', '7', null, -32600, /jsonrpc/],
  ['another version', '{"jsonrpc":"1.0","id":4,"method":"ping"}', 4, -32600, /jsonrpc/],
  ['no method', '{"jsonrpc":"2.0","id":5}', 5, -32600, /method/],
  ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', null, -32600, /id/],
  ['an unknown method', '{"jsonrpc":"2.0","id":6,"method":"tools/guess"}', 6, -32601, /tools\/guess/],
  ['params that are null', '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":null}', 7, -32602, /params/],
  ['params that are a list', '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[]}', 8, -32602, /params/],
  ['no params', '{"jsonrpc":"2.0","id":9,"method":"tools/call"}', 9, -32602, /name/],
  ['no name', '{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"arguments":{}}}', 10, -32602, /name/],
  ['a name that is no text', '{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":{}}}', 11, -32602, /name/],
  ['an unknown tool', '{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"__proto__"}}', 12, -32602, /unknown tool/],
];

describe('batches', () => {
  const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' });
  const pong = (id: unknown) => ({ jsonrpc: '2.0', id, result: {} });

  it('are answered in one line in protocol version 2025-03-26, the only one that has them', async () => {
    const raw = start();
    raw.write(JSON.stringify({ ...initialize, params: { ...initialize.params, protocolVersion: '2025-03-26' } }));
    expect((await raw.next()).result).toMatchObject({ protocolVersion: '2025-03-26' });
    raw.write(JSON.stringify([ping(1), { jsonrpc: '2.0', method: 'notifications/initialized' }, ping('b')]));
    expect(await raw.next()).toEqual([pong(1), pong('b')]);
    raw.write(JSON.stringify([ping(2), 7, ping(1.5), { jsonrpc: '2.0', id: 3, method: 'tools/call', params: [] }]));
    const faults: [unknown, number][] = [
      [null, -32600],
      [null, -32600],
      [3, -32602],
    ];
    const answers = (await raw.next()) as unknown as { id: unknown; error?: { code: number } }[];
    expect(answers.filter(({ error }) => error).map(({ id, error }) => [id, error?.code])).toEqual(faults);
    expect(answers.filter(({ error }) => !error)).toEqual([pong(2)]);
    const call = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'delegate', arguments: { tasks: [{ task: 'x' }] } } };
    raw.write(JSON.stringify([call, ping(6)]));
    const results = (await raw.next()) as unknown as { id: unknown; result: object }[];
    expect(results).toEqual([pong(6), expect.objectContaining({ id: 5 })]);
    expect(JSON.stringify(results)).toContain('fine');
    for (const wrong of [[], [initialize], Array(101).fill(ping(1))]) {
      raw.write(JSON.stringify(wrong));
      expect(await raw.next()).toMatchObject({ id: null, error: { code: -32600, message: expect.stringMatching(/batch/) } });
    }
    // Notifications alone get no answer.
    raw.write('[{"jsonrpc":"2.0","method":"notifications/nothing"}]');
    raw.write(JSON.stringify([ping(8), { ...call, id: 7, params: { name: 'delegate_wait', arguments: {} } }]));
    raw.child.stdin?.end();
    expect(await raw.next()).toContainEqual(pong(8));
    expect(await raw.left).toBe(0);
  });
});

describe('`initialize`', () => {
  const { clientInfo, capabilities } = initialize.params;
  it.each([
    ['no params', undefined, /^params: is missing; it has to be an object$/],
    ['no version', { capabilities, clientInfo }, /^params\.protocolVersion: is missing; it has to be a string$/],
    ['no client', { capabilities, protocolVersion: '2025-06-18' }, /^params\.clientInfo: is missing; it has to be an object$/],
    ['a version that is no text', { ...initialize.params, protocolVersion: 5 }, /^params\.protocolVersion: .*expected string/],
  ])('with %s is refused by name, and can be sent again', async (_, params, message) => {
    const raw = start();
    raw.write(JSON.stringify({ ...initialize, params }));
    expect(await raw.next()).toEqual({
      jsonrpc: '2.0',
      id: 'first',
      error: { code: -32602, message: expect.stringMatching(message) },
    });
    raw.write(JSON.stringify(initialize));
    expect((await raw.next()).result).toMatchObject({ serverInfo: { name: 'retinue' } });
  });
});

describe('the session', () => {
  it('answers invalid messages with errors and continues', async () => {
    const raw = start();
    raw.write(JSON.stringify(initialize));
    expect((await raw.next()).result).toMatchObject({ serverInfo: { name: 'retinue' } });
    raw.write('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    for (const [what, line, id, code, message] of abuses) {
      raw.write(line);
      const answer = await raw.next();
      expect([what, answer.id, answer.error?.code, answer.error?.message]).toEqual([what, id, code, expect.stringMatching(message)]);
    }
    // None of these gets an answer.
    for (const line of [
      '',
      '   ',
      '{"jsonrpc":"2.0","method":"notifications/nothing"}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled"}',
      '{"jsonrpc":"2.0","id":77,"result":{}}',
    ])
      raw.write(line);
    raw.write('{"jsonrpc":"2.0","id":20,"method":"ping"}\r');
    expect(await raw.next()).toEqual({ jsonrpc: '2.0', id: 20, result: {} });
  });

  it('reads messages in pieces, and refuses arguments that are not an object or nested too deeply', async () => {
    const raw = start();
    const call = (id: number, args: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"delegate","arguments":${args}}}`;
    const line = call(1, '{"tasks":[{"task":"größe"}]}');
    const bytes = Buffer.from(`${line}\n`);
    for (let at = 0; at < bytes.length; at += 7) raw.child.stdin?.write(bytes.subarray(at, at + 7));
    const content = (text: RegExp) => ({ content: [{ type: 'text', text: expect.stringMatching(text) }] });
    expect((await raw.next()).result).toMatchObject(content(/fine/));
    raw.write(call(2, '[1]'));
    expect((await raw.next()).result).toMatchObject({ isError: true, ...content(/must be an object/) });
    raw.write(call(3, `{"tasks":${'['.repeat(50_000)}${']'.repeat(50_000)}}`));
    expect((await raw.next()).result).toMatchObject({ isError: true, ...content(/nested deeper/) });
    raw.write('{"jsonrpc":"2.0","id":4,"method":"ping"}');
    expect(await raw.next()).toMatchObject({ id: 4, result: {} });
  });

  it('closes after a line that is too long, and says why', async () => {
    const raw = start();
    const part = Buffer.alloc(1024 * 1024, 'x');
    for (let n = 0; n < 17; n++) raw.child.stdin?.write(part);
    expect(await raw.next()).toMatchObject({ id: null, error: { message: expect.stringMatching(/longer than 16777216 bytes/) } });
    expect(await raw.left).toBe(0);
  });

  it('answers requests that were sent before the end of its input', async () => {
    const raw = start();
    raw.child.stdin?.end(`${JSON.stringify(initialize)}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}`);
    expect(await raw.next()).toMatchObject({ id: 'first' });
    expect(((await raw.next()).result as { tools: object[] }).tools).toHaveLength(6);
    expect(await raw.left).toBe(0);
  });

  it('does not wait for the roots of a client that has disconnected', async () => {
    const raw = start();
    const params = { ...initialize.params, capabilities: { roots: {} } };
    raw.child.stdin?.end(`${JSON.stringify({ ...initialize, params })}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n`);
    let answer = await raw.next();
    while (answer.id !== 2) answer = await raw.next();
    expect((answer.result as { tools: object[] }).tools).toHaveLength(6);
    expect(await raw.left).toBe(0);
  });
});
