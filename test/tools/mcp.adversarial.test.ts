// Broken or hostile servers: their calls fail, the run continues, and no process is left.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/system/clock.ts';
import { createMcpWorld, isRunning, serverIn } from '../support/mcp.ts';

const echo = { tool: 'mcp__demo__echo', args: { text: 'hi' } };
const read = { tool: 'read', args: { path: 'f' } };
const files = { f: 'text' };

test('a server that dies on start: a notice with its error output, its tools are absent, briefs that name them are valid', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('exit') }, files });
  const [result] = await made.play([read], { tools: { allow: ['read', 'mcp__demo__echo'] } });
  expect(result).toMatchObject({ status: 'ok' });
  expect(made.created().notices).toContain(
    'MCP server demo cannot be used, so its tools are left out: it ended with exit code 1; its last error output: cannot find the moon',
  );
});

test('reports a missing program, an unset variable and a missing directory', async () => {
  const servers = {
    gone: { command: 'no-such-program-here' },
    file: { command: './f', cwd: '.' },
    unset: serverIn('plain', { envFrom: ['NOT_SET'] }),
    folder: serverIn('plain', { cwd: 'no/such' }),
    address: { url: 'http://127.0.0.1:1/mcp' },
  };
  await using made = await createMcpWorld({ servers, files });
  await made.play([]);
  const said = made.created().notices.join('\n');
  expect(said).toContain('the program no-such-program-here was not found');
  expect(said).toContain('./f is not executable');
  expect(said).toContain('the variable NOT_SET, which its definition names, is not set');
  expect(said).toMatch(/its working directory .*no\/such does not exist/);
  expect(said).toMatch(/MCP server address .*(ECONNREFUSED|fetch failed|bad port)/);
});

test('a server that hangs in initialize meets a deadline and its process is ended', async () => {
  const made = await createMcpWorld({ servers: { demo: serverIn('mute', { startupTimeout: 1 }) }, files });
  expect(await made.play([read])).toMatchObject([{ status: 'ok' }]);
  expect(made.created().notices.join()).toContain(
    'MCP server demo cannot be used, so its tools are left out: it did not answer within 1 s',
  );
  await made[Symbol.asyncDispose]();
  expect(processesWith('mute')).toEqual([]);
});

test('a server that hangs in a call: the call times out, the server is told and stays usable', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('plain', { timeout: 5 }) } });
  const [hang, cancelled] = await made.play([{ tool: 'mcp__demo__hang' }, { tool: 'mcp__demo__cancelled' }]);
  expect(hang).toMatchObject({ status: 'timeout', output: expect.stringContaining('took longer than 5000 ms') });
  expect(cancelled).toMatchObject({ status: 'ok', output: '1' });
});

test('a server that hangs in a call does not delay the cancel of a run', async () => {
  await using made = await createMcpWorld({
    servers: { demo: serverIn() },
    script: { runs: [{ steps: [{ calls: [{ tool: 'mcp__demo__hang', args: {} }] }] }] },
  });
  const asked = Promise.withResolvers<void>();
  made.world.runtime.listen((event) => event.type === 'tool.asked' && asked.resolve());
  const run = await made.world.runtime.start({ task: 'go' });
  await asked.promise;
  await run.cancel('enough');
  expect(await run.outcome).toMatchObject({ status: 'cancelled' });
});

test('a server that dies in a call: the call fails without showing secrets, the next one reconnects', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  const [where, die, again] = await made.play([{ tool: 'mcp__demo__where' }, { tool: 'mcp__demo__die' }, { tool: 'mcp__demo__where' }]);
  expect(die).toMatchObject({
    status: 'error',
    output:
      'mcp__demo__die failed: the connection ended during this call, so its effect is unknown: it ended with exit code 3; its last error output: the disk[2J is gone, my key is [secret]',
  });
  expect(again?.status).toBe('ok');
  expect(JSON.parse(again?.output ?? '').pid).not.toBe(JSON.parse(where?.output ?? '').pid);
});

test('a server that dies repeatedly is retried with growing pauses, and calls in between fail at once', async () => {
  let now = 0;
  const linkClock = {
    ...systemClock,
    monotonic: () => now,
    at: (due: number, fire: () => void) => systemClock.at(performance.now() + due - now, fire),
  };
  await using made = await createMcpWorld({ servers: { demo: serverIn() }, linkClock });
  const die = (n: number) => ({ tool: 'mcp__demo__die', args: { n } });
  const early = await made.play([die(1), die(2), echo]);
  expect(early.map(({ status }) => status)).toEqual(['error', 'error', 'error']);
  expect(early.at(-1)?.output).toMatch(/it ended with exit code 3; .* \(next attempt in 1 s\)$/);
  await made.play([], { tools: { allow: ['mcp__demo__echo'] } });
  expect(made.created().notices.join()).toContain('next attempt in 1 s');
  now += 1000;
  expect(await made.play([echo])).toMatchObject([{ status: 'ok' }]);
});

test('garbage on standard output is ignored', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('garbage') } });
  expect(await made.play([echo, { ...echo, args: { text: 'ho' } }])).toMatchObject([{ status: 'ok' }, { status: 'ok' }]);
});

test('a line of 50 MB ends the connection but not the run, and is not kept', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  const [huge, after] = await made.play([{ tool: 'mcp__demo__huge' }, echo]);
  expect(huge).toMatchObject({ status: 'error', output: expect.stringContaining('it sent a message of more than 16777216 bytes') });
  expect(after).toMatchObject({ status: 'ok' });
});

test.each([
  ['sends requests without end and never reads', 'asking', 'it sends requests but does not read the answers: 1000 are waiting'],
  ['sends unsolicited messages without end', 'telling', 'it sends too much unsolicited output'],
  ['sends large unsolicited messages without end', 'shouting', 'it sends too much unsolicited output'],
])('a server that %s: the connection ends, not the run', async (_, mode, why) => {
  await using made = await createMcpWorld({ servers: { demo: serverIn(mode) } });
  const [flood, after] = await made.play([{ tool: 'mcp__demo__hang' }, echo]);
  expect(flood).toMatchObject({ status: 'error', output: expect.stringContaining(why) });
  expect(after).toMatchObject({ status: 'ok' });
});

test('a server that reads gets all its answers', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('curious') } });
  expect(await made.play([{ tool: 'mcp__demo__hang' }])).toMatchObject([{ status: 'ok', output: 'all answered' }]);
});

test('long text is cut as for other tools', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  const [long] = await made.play([{ tool: 'mcp__demo__long' }]);
  expect(long).toMatchObject({ status: 'ok', truncated: { originalBytes: 1_000_000 } });
  expect(long?.output.length).toBeLessThan(51_000);
});

test('of a thousand tools 128 are used, with a notice', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('many') } });
  await made.play([{ tool: 'mcp__demo__tool_127' }]);
  expect(made.created().grant.tools.filter((tool) => tool.startsWith('mcp__'))).toHaveLength(128);
  expect(made.created().notices).toContain('MCP server demo: it has more than 128 tools; the others are left out');
});

test('hostile names, descriptions and schemas are cleaned or left out', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('hostile') } });
  await made.play([]);
  const offered = made.created().grant.tools.filter((tool) => tool.startsWith('mcp__'));
  expect(offered).toEqual([
    'mcp__demo________etc_passwd___2J',
    expect.stringMatching(/^mcp__demo__a_b_[0-9a-f]{8}$/),
    expect.stringMatching(/^mcp__demo__a_b_[0-9a-f]{8}$/),
    expect.stringMatching(/^mcp__demo__n{44}_[0-9a-f]{8}$/),
    'mcp__demo__twice',
    'mcp__demo__slow',
    'mcp__demo__old',
  ]);
  expect(new Set(offered).size).toBe(offered.length);
  expect(offered.every((name) => name.length <= 64)).toBe(true);
  const notice = made.created().notices.find((each) => each.includes('left out')) ?? '';
  expect(notice).toMatch(/^MCP server demo: 8 tools left out: `twice` is listed twice; `large` has a schema .*; and 5 more$/);
  const { tools } = await made.mcp.probe('demo', serverIn('hostile'));
  expect(tools.every(({ description }) => description.length <= 4001)).toBe(true);
});

test('an exponential pattern does not block the process', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('hostile') } });
  const [slow, old] = await made.play([
    { tool: 'mcp__demo__slow', args: { a: `${'a'.repeat(40)}!` } },
    { tool: 'mcp__demo__old', args: { p: ['x'] } },
  ]);
  expect(slow).toMatchObject({ status: 'error', output: expect.stringContaining('longer than 250 ms to check') });
  expect(old).toMatchObject({ status: 'error', output: expect.stringContaining('/p/0 must be integer') });
});

test('control characters in results are removed', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  expect(await made.play([{ tool: 'mcp__demo__control' }])).toMatchObject([{ output: 'a[31mred\nb' }]);
});

test('a failing server does not affect the others', async () => {
  await using made = await createMcpWorld({ servers: { bad: serverIn('exit'), demo: serverIn() } });
  expect(await made.play([echo])).toMatchObject([{ status: 'ok' }]);
});

test('a close during the start leaves no process', async () => {
  const made = await createMcpWorld({ servers: { demo: serverIn('mute', { startupTimeout: 60 }) } });
  const starting = made.world.runtime.start({ task: 'go' }).catch((error: Error) => error);
  await new Promise<void>((resolve) => {
    const look = () => (processesWith('mute').length > 0 ? resolve() : setImmediate(look));
    look();
  });
  const [pid] = processesWith('mute') as [number];
  await made[Symbol.asyncDispose]();
  expect(await starting).toBeInstanceOf(Error);
  expect(isRunning(pid)).toBe(false);
});

/** Processes of the test server in this mode, started by this test process. */
function processesWith(mode: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return Number(parent) === process.pid && words[1]?.endsWith('mcp-server.ts') && words[2] === mode && isRunning(pid);
      } catch {
        return false;
      }
    });
}
