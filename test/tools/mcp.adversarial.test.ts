// Servers that are broken or hostile: their calls fail, the run goes on, nothing of them is left.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/system/clock.ts';
import { createMcpWorld, isRunning, serverIn } from '../support/mcp.ts';

const echo = { tool: 'mcp__demo__echo', args: { text: 'hi' } };
const read = { tool: 'read', args: { path: 'f' } };
const files = { f: 'text' };

test('dies on start: a notice with its last words, its tools are absent, briefs that name them hold', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('exit') }, files });
  const [result] = await made.play([read], { tools: { allow: ['read', 'mcp__demo__echo'] } });
  expect(result).toMatchObject({ status: 'ok' });
  expect(made.created().notices).toContain(
    'MCP server demo cannot be used, so its tools are left out: it ended with exit code 1; its last words: cannot find the moon',
  );
});

test('a program that is not there, a variable that is not set, a folder that is not there', async () => {
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
  expect(said).toContain('there is no program no-such-program-here');
  expect(said).toContain('./f may not be executed');
  expect(said).toContain('the variable NOT_SET, which its definition names, is not set');
  expect(said).toMatch(/there is no directory .*no\/such to start it in/);
  expect(said).toMatch(/MCP server address .*(ECONNREFUSED|fetch failed|bad port)/);
});

test('hangs in initialize: a deadline, and its process is ended', async () => {
  const made = await createMcpWorld({ servers: { demo: serverIn('mute', { startupTimeout: 1 }) }, files });
  expect(await made.play([read])).toMatchObject([{ status: 'ok' }]);
  expect(made.created().notices.join()).toContain(
    'MCP server demo cannot be used, so its tools are left out: it did not answer within 1 s',
  );
  await made[Symbol.asyncDispose]();
  expect(processesWith('mute')).toEqual([]);
});

test('hangs in a call: the timeout holds, the server is told, and it serves on', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('plain', { timeout: 1 }) } });
  const [hang, cancelled] = await made.play([{ tool: 'mcp__demo__hang' }, { tool: 'mcp__demo__cancelled' }]);
  expect(hang).toMatchObject({ status: 'timeout', output: expect.stringContaining('took longer than 1000 ms') });
  expect(cancelled).toMatchObject({ status: 'ok', output: '1' });
});

test('hangs in a call of a run that is cancelled', async () => {
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

test('dies in a call: that call fails and says so without secrets, the next one opens it again', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  const [where, die, again] = await made.play([{ tool: 'mcp__demo__where' }, { tool: 'mcp__demo__die' }, { tool: 'mcp__demo__where' }]);
  expect(die).toMatchObject({
    status: 'error',
    output:
      'mcp__demo__die failed: the connection ended while this call was at work, so nobody knows what became of it: it ended with exit code 3; its last words: the disk[2J is gone, my key is [secret]',
  });
  expect(again?.status).toBe('ok');
  expect(JSON.parse(again?.output ?? '').pid).not.toBe(JSON.parse(where?.output ?? '').pid);
});

test('dies again and again: it is tried ever more rarely, and calls fail at once in between', async () => {
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
  expect(early.at(-1)?.output).toMatch(/it ended with exit code 3; .* \(it is not tried again for 1 s\)$/);
  await made.play([], { tools: { allow: ['mcp__demo__echo'] } });
  expect(made.created().notices.join()).toContain('it is not tried again for 1 s');
  now += 1000;
  expect(await made.play([echo])).toMatchObject([{ status: 'ok' }]);
});

test('garbage on standard output is passed over', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('garbage') } });
  expect(await made.play([echo, { ...echo, args: { text: 'ho' } }])).toMatchObject([{ status: 'ok' }, { status: 'ok' }]);
});

test('a line of 50 MB ends the connection, not the run, and is not kept', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  const [huge, after] = await made.play([{ tool: 'mcp__demo__huge' }, echo]);
  expect(huge).toMatchObject({ status: 'error', output: expect.stringContaining('it sent a message of more than 16777216 bytes') });
  expect(after).toMatchObject({ status: 'ok' });
});

test.each([
  ['asks without end and never reads', 'asking', 'it asks and does not read the answers: 1000 wait for it'],
  ['tells without end what nobody asked for', 'telling', 'it says too much that nobody asked for'],
  ['tells much without end that nobody asked for', 'shouting', 'it says too much that nobody asked for'],
])('%s: the connection ends, not the run', async (_, mode, why) => {
  await using made = await createMcpWorld({ servers: { demo: serverIn(mode) } });
  const [flood, after] = await made.play([{ tool: 'mcp__demo__hang' }, echo]);
  expect(flood).toMatchObject({ status: 'error', output: expect.stringContaining(why) });
  expect(after).toMatchObject({ status: 'ok' });
});

test('a server that reads is answered as much as it asks', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('curious') } });
  expect(await made.play([{ tool: 'mcp__demo__hang' }])).toMatchObject([{ status: 'ok', output: 'all answered' }]);
});

test('much text is cut as other tools’ is', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  const [long] = await made.play([{ tool: 'mcp__demo__long' }]);
  expect(long).toMatchObject({ status: 'ok', truncated: { originalBytes: 1_000_000 } });
  expect(long?.output.length).toBeLessThan(51_000);
});

test('a thousand tools: 128 are taken, and it is said', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('many') } });
  await made.play([{ tool: 'mcp__demo__tool_127' }]);
  expect(made.created().grant.tools.filter((tool) => tool.startsWith('mcp__'))).toHaveLength(128);
  expect(made.created().notices).toContain('MCP server demo: it has more than 128 tools; the others are left out');
});

test('hostile names, descriptions and schemas', async () => {
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
  expect(notice).toMatch(/^MCP server demo: 8 tools left out: `twice` is there twice; `large` has a schema .*; and 5 more$/);
  const { tools } = await made.mcp.probe('demo', serverIn('hostile'));
  expect(tools.every(({ description }) => description.length <= 4001)).toBe(true);
});

test('a pattern that would never end does not hold the process', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('hostile') } });
  const [slow, old] = await made.play([
    { tool: 'mcp__demo__slow', args: { a: `${'a'.repeat(40)}!` } },
    { tool: 'mcp__demo__old', args: { p: ['x'] } },
  ]);
  expect(slow).toMatchObject({ status: 'error', output: expect.stringContaining('longer than 250 ms to check') });
  expect(old).toMatchObject({ status: 'error', output: expect.stringContaining('/p/0 must be integer') });
});

test('control characters in results', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  expect(await made.play([{ tool: 'mcp__demo__control' }])).toMatchObject([{ output: 'a[31mred\nb' }]);
});

test('one that fails does not take the others along', async () => {
  await using made = await createMcpWorld({ servers: { bad: serverIn('exit'), demo: serverIn() } });
  expect(await made.play([echo])).toMatchObject([{ status: 'ok' }]);
});

test('a close while it is being opened leaves nothing', async () => {
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

/** Processes of the test server in this mode that this test process started. */
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
