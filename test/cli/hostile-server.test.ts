// Commands with `--server` against a server that sends escape sequences in every text, or answers of another shape.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestServer, type TestServer, tokenOf } from '../server/support.ts';
import { type Cli, createCli } from './support.ts';

const script = {
  runs: [
    {
      when: { task: 'survey' },
      times: 'any',
      steps: [
        { calls: [{ tool: 'write', args: { path: 'notes.txt', content: 'hello\n' } }] },
        { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore', label: 'looker' }] } }] },
        { text: 'surveyed' },
      ],
    },
    { when: { task: 'ask' }, times: 'any', steps: [{ calls: [{ tool: 'write', args: { path: 'AGENTS.md', content: 'x\n' } }] }] },
    { times: 'any', steps: [{ text: 'looked' }] },
  ],
};

/** Text that is sent as it is, with another status if it has one. */
class RawAnswer {
  readonly text: string;
  readonly status: number | null;
  constructor(text: string, status: number | null = null) {
    this.text = text;
    this.status = status;
  }
}

/** Turns a JSON answer into what the hostile server sends instead. */
type Change = (value: unknown) => unknown;

let server: TestServer;
let proxy: Server;
let cli: Cli;
let change: Change = (value) => value;

beforeAll(async () => {
  server = await createTestServer({
    script,
    listen: {
      setup: async () => ({
        model: 'script/main',
        models: async () => [
          { name: 'script/main', reason: 'a key', isDefault: true, price: { input: 1, output: 2 }, contextWindow: 1000 },
        ],
        memories: async () => [{ title: 'a', text: 'b', at: '2026-01-01T00:00:00.000Z' }],
        policy: async ({ call, agent }) => ({
          ...{ call, agent, tool: 'bash', action: 'ask', rule: 'ask bash', owner: 'you', about: 'it', offered: true, refused: 'no' },
          notes: ['no sandbox'],
          parts: [{ subject: 'ls', action: 'ask', rule: 'ask bash', owner: 'you', unsafe: 'it writes' }],
        }),
      }),
    },
  });
  await (await server.api.start({ task: 'survey', label: 'the survey' })).outcome;
  await server.api.start({ task: 'ask' });
  while ((await server.api.questions()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  proxy = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { authorization = '', accept = '' } = request.headers;
    const lastEventId = request.headers['last-event-id'];
    const headers = {
      authorization,
      accept,
      'content-type': 'application/json',
      ...(lastEventId ? { 'last-event-id': String(lastEventId) } : {}),
    };
    const answer = await fetch(server.server.url + request.url, {
      ...{ method: request.method ?? 'GET', headers },
      ...(request.method === 'POST' ? { body } : {}),
    });
    const type = answer.headers.get('content-type') ?? '';
    if (!type.startsWith('text/event-stream')) {
      const changed = change(await answer.json());
      const raw = changed instanceof RawAnswer ? changed : new RawAnswer(JSON.stringify(changed));
      return response.writeHead(raw.status ?? answer.status, { 'content-type': type }).end(raw.text);
    }
    response.writeHead(answer.status, { 'content-type': type });
    let text = '';
    response.on('close', () => void answer.body?.cancel().catch(() => {}));
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const frame = text.slice(0, end);
        text = text.slice(end + 2);
        response.write(`${frame.replace(/^data: (.*)$/m, (_, data) => `data: ${JSON.stringify(change(JSON.parse(data)))}`)}\n\n`);
      }
    }
    return response.end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  cli = createCli({ env: { RETINUE_SERVER: url, RETINUE_TOKEN: tokenOf('start') } });
});

afterAll(async () => {
  cli[Symbol.dispose]();
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
  for (const { runId } of await server.api.ps({ all: false })) await server.api.cancel([runId], 'over');
  await server[Symbol.asyncDispose]();
});

const commands: string[][] = [
  ['ps', '--all'],
  ['ps', 'last'],
  ['show', 'the-survey'],
  ['logs', 'the-survey', '--tree'],
  ['logs', 'the-survey', '--tree', '-f'],
  ['diff', 'the-survey'],
  ['wait', 'the-survey'],
  ['top', '--plain', '--all'],
  ['attach', 'the-survey', '--plain'],
  ['replay', 'the-survey'],
  ['verify', 'the-survey'],
  ['verify'],
  ['agents'],
  ['models'],
  ['memory', 'list'],
  ['policy', 'test', 'bash:ls'],
  ['approve'],
  ['refuse', 'last', 'no'],
  ['run', 'look'],
  ['message', 'the-survey', 'more'],
  ['fork', 'the-survey', '--at', '1', 'more'],
  ['pause', 'the-survey'],
  ['resume', 'the-survey'],
  ['cancel', 'the-survey'],
];

/** Runs a command; what it prints must be harmless in a terminal. */
async function runSafely(argv: string[]): Promise<{ code: number; text: string }> {
  const [run] = (await server.api.ps({ all: true, roots: true })).filter(({ label }) => label === 'the survey');
  const { code, stdout, stderr } = await cli.run(argv.map((arg) => (arg === 'the-survey' ? (run?.runId as string) : arg)));
  const text = `${stdout}${stderr}`;
  expect(text.match(/[^\n\t\x20-\x7e\u00a0-\u{10ffff}]/u)?.[0], text).toBeUndefined();
  expect(text).not.toMatch(/this is a bug|^ +at /m);
  return { code, text };
}

describe('texts with escape sequences are shown without them', () => {
  /** What has a form of its own, which the client checks: enumerations by their keys; ids, hashes and times by their values. */
  const strictKey =
    /^(status|kind|type|position|action|result|role|day|dialect|host|finish|purpose|code|terminated|name|from|scope|action|visibility|mode)$/;
  const strictValue = /^([0-9a-f]{16}|[0-9a-f]{64}|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{16}\.\d+\.\d+)$/;
  const poison = '\x1b]0;owned\x07\x1b[31mRED\x9b2J\u202e';
  const addPoison = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string') return strictKey.test(key) || strictValue.test(value) ? value : `${value}${poison}`;
    if (Array.isArray(value)) return value.map((each) => addPoison(each, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, addPoison(each, name)]));
  };

  it.each(commands.flatMap((command) => [[command], [[...command, '--json']]]))('%j', async (command) => {
    change = (value) => addPoison(value);
    const { text } = await runSafely(command);
    // The command got as far as showing something.
    expect(text).not.toContain('cannot read');
  });

  it.each([['verify'], ['replay', 'the-survey']])('faults that %s reports', async (...command) => {
    const fault = {
      runId: '0'.repeat(16),
      seq: 3,
      type: poison,
      where: poison,
      what: poison,
      recorded: poison,
      rebuilt: { [poison]: poison },
    };
    const verdict = { trees: 1, runs: 1, facts: 1, erased: 0, broken: [{ ...fault, runId: poison }], faults: [fault] };
    const replayed = { runId: fault.runId, facts: 1, requests: 1, difference: fault };
    change = (value) => {
      if (Array.isArray(value) && 'requests' in (value[0] ?? {})) return [replayed];
      return value && typeof value === 'object' && 'broken' in value ? verdict : value;
    };
    const { code, text } = await runSafely(command);
    expect([code, text]).toEqual([1, expect.stringMatching(/broken|differs/)]);
  });

  it('an error of the server', async () => {
    change = () => new RawAnswer(JSON.stringify({ error: { code: 'internal', message: `it failed${poison}` } }), 500);
    const { code, text } = await runSafely(['show', '0'.repeat(15)]);
    expect([code, text]).toEqual([1, expect.stringMatching(/^retinue: it failed/)]);
  });
});

describe('answers of another shape are refused with a sentence', () => {
  const other = [null, [], {}, 'text', 7, [null], [7], [[]], [{}], { a: 1 }, new RawAnswer(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)];
  const isPlain = (value: unknown) => value === null || Array.isArray(value);

  it.each(commands.map((command) => [command]))('%j', async (command) => {
    for (const value of other) {
      change = () => value;
      const { code, text } = await runSafely(command);
      // An empty list, or no outcome yet, is a valid answer.
      if (!isPlain(value))
        expect([code, text], JSON.stringify(value)).toEqual([1, expect.stringMatching(/cannot read|not a Retinue server/)]);
    }
  });

  /** Those that do not wait for a run, which a server can claim never to end. */
  const waiting = ['wait', 'run', 'message', 'fork', 'attach', 'resume'];
  const brief = commands.filter(([name = '', ...args]) => !waiting.includes(name) && !args.includes('-f'));

  it.each(brief.map((command) => [command]))('%j, if only one value in it is wrong', async (command) => {
    for (const wrong of [null, 7, 'x', [], {}]) {
      for (const at of [0, 3, 7, 20]) {
        change = (value) => replaceLeaf(value, at, wrong);
        await runSafely(command);
      }
    }
  });
});

describe('a row that cannot be read', () => {
  it('hides no other run of the list, and is announced', async () => {
    change = (value) =>
      Array.isArray(value) ? value.map((row, index) => (index === 0 ? { ...row, tokens: { total: 1e300 } } : row)) : value;
    const { code, text } = await runSafely(['ps', '--all']);
    expect(code).toBe(0);
    expect(text).toMatch(/retinue: 1 row of the server at \S+ cannot be read and not shown \(tokens\./);
    expect(text).toContain('the survey');
  });
});

/** Replaces the value with this number, counted through the whole answer. */
function replaceLeaf(value: unknown, at: number, by: unknown): unknown {
  let left = at;
  const walk = (each: unknown): unknown => {
    if (typeof each !== 'object' || each === null) return left-- === 0 ? by : each;
    if (Array.isArray(each)) return each.map(walk);
    return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, walk(inner)]));
  };
  return walk(value);
}
