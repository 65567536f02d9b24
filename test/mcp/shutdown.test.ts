// Whichever way client or server end: the other side notices, delegated runs have ended or can be continued, and no process is left.
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { createPlace, type Place } from '../cli/support-process.ts';
import { bin, createEnvironment, type Provider, readTexts, startProvider, startServer, waitForExit } from './support.ts';

type View = { runId: string; kind: string; status: string };

const delegateCalls: Record<string, (task: string) => object> = {
  native: (task) => ({ name: 'delegate', arguments: { tasks: [{ task }] } }),
  dex: (instructions) => ({ name: 'spawn_subagent', arguments: { instructions, hat: 'creator' } }),
  ralph: (task) => ({ name: 'subagent', arguments: { task } }),
};

/** A server on a pipe, with one delegated run that executes a shell command. */
async function startBusyServer(
  place: Place,
  provider: Provider,
  marker: string,
  dialect = 'native',
): Promise<{ child: ChildProcess; left: Promise<number | null>; said(): string }> {
  const env = { PATH: process.env.PATH, HOME: place.folder, ...createEnvironment(provider) };
  const args = [bin, 'mcp', '--allow', 'bash', '--dialect', dialect];
  const child = spawn(process.execPath, args, { cwd: place.folder, env, stdio: 'pipe' });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const heard = new Promise((resolve) => child.stderr.once('close', resolve));
  const left = new Promise<number | null>((resolve) => child.on('exit', (code) => void heard.then(() => resolve(code))));
  child.stdin.on('error', () => {});
  const params = delegateCalls[dialect]?.(`shell ${marker}`);
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`);
  await waitUntil(() => findCommands(marker).length > 0);
  return { child, left, said: () => errors };
}

async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((done) => setTimeout(done, 10));
}

/** The marker is a sleep time that no other process uses. */
function findCommands(marker: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8') === `sleep\0${marker}\0`;
    } catch {
      return false;
    }
  });
}

let count = 0;
async function createSetup(
  shellOf = (marker: string) => `sleep ${marker}`,
): Promise<{ place: Place; provider: Provider; marker: string; close(): Promise<void> }> {
  const marker = `600${process.pid}0${++count}`;
  const shell = { calls: [{ tool: 'bash', args: { command: shellOf(marker) } }] };
  const provider = await startProvider({ [marker]: [shell, { text: 'done' }] });
  const place = createPlace({ runs: [{ steps: [] }] }, createEnvironment(provider));
  const close = async () => {
    place[Symbol.dispose]();
    await provider.close();
  };
  return { place, provider, marker, close };
}

async function listRuns(place: Place): Promise<View[]> {
  return JSON.parse((await place.run('ps', '--all', '--json')).out);
}

const summarize = (runs: View[]): string[] => runs.map(({ kind, status }) => `${kind} ${status}`);
const readViews = async (place: Place): Promise<string[]> => summarize(await listRuns(place));

const ways: [what: string, go: (child: ChildProcess) => void][] = [
  ['its input ends', (child) => void child.stdin?.end()],
  ['SIGTERM', (child) => void child.kill('SIGTERM')],
  ['SIGINT', (child) => void child.kill('SIGINT')],
  ['SIGHUP', (child) => void child.kill('SIGHUP')],
  [
    'nobody reads its output',
    (child) => {
      child.stdout?.destroy();
      child.stdin?.write('{"jsonrpc":"2.0","id":9,"method":"ping"}\n');
    },
  ],
];

const linux = process.platform === 'linux';

describe.runIf(linux)('the server', () => {
  it.each(ways)('ends in time when %s, and pauses what native tools delegated, which another process can continue', async (_, go) => {
    const { place, provider, marker, close } = await createSetup((time) => `test -e again && exit; touch again; sleep ${time}`);
    const { child, left, said } = await startBusyServer(place, provider, marker);
    go(child);
    // The exit code would be 1 if it took longer than 5 s.
    expect(await left).toBe(0);
    expect(said()).toContain('retinue: 1 run was paused; continue with `retinue resume`\n');
    expect(said()).not.toContain('cannot end');
    expect(findCommands(marker)).toEqual([]);
    expect(await readViews(place)).toEqual(['agent paused', 'client paused']);
    expect(await place.run('resume')).toMatchObject({ code: 0 });
    expect(await readViews(place)).toEqual(['agent completed', 'client completed']);
    await close();
  });

  const compatible = ways.flatMap(([what, go]) => ['dex', 'ralph'].map((dialect) => [what, dialect, go] as const));
  it.each(compatible)('ends in time when %s, and everything that %s tools delegated', async (_, dialect, go) => {
    const { place, provider, marker, close } = await createSetup();
    const { child, left } = await startBusyServer(place, provider, marker, dialect);
    go(child);
    // The exit code would be 1 if it took longer than 5 s.
    expect(await left).toBe(0);
    expect(findCommands(marker)).toEqual([]);
    const runs = await listRuns(place);
    expect(summarize(runs)).toEqual(['agent cancelled', 'client completed']);
    expect(JSON.parse((await place.run('show', runs[0]?.runId ?? '', '--json')).out).outcome.terminated).toBe('client_gone');
    await close();
  });

  it('leaves at once at a second signal', async () => {
    const { place, provider, marker, close } = await createSetup((time) => `trap '' TERM; sleep ${time}; sleep ${time}`);
    const { child, left } = await startBusyServer(place, provider, marker);
    const asking = setInterval(() => child.kill('SIGTERM'), 100);
    expect(await left).toBe(130);
    clearInterval(asking);
    for (const pid of findCommands(marker)) process.kill(-Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[4]), 'SIGKILL');
    await close();
  });

  it('killed with -9 leaves runs that are marked as interrupted, and another server can start', async () => {
    const { place, provider, marker, close } = await createSetup();
    await using server = await startServer({ env: createEnvironment(provider), place });
    void server.call('delegate', { tasks: [{ task: `shell ${marker}` }] }).catch(() => {});
    await provider.asked(marker);
    process.kill(server.pid(), 'SIGKILL');
    await waitForExit(server.pid());
    expect(await readViews(place)).toEqual(['agent interrupted', 'client interrupted']);
    await using next = await startServer({ env: createEnvironment(provider), place });
    const result = await next.call('delegate', { tasks: [{ task: 'something else' }] });
    expect(readTexts(result)[0]).toContain('nothing was asked for');
    await close();
  });
});

it.runIf(linux)('a client killed with -9 takes its server with it, and its runs are paused', async () => {
  const { place, provider, marker, close } = await createSetup();
  const program = join(place.folder, 'client.mjs');
  writeFileSync(
    program,
    `import { spawn } from 'node:child_process';
    const server = spawn(process.execPath, ${JSON.stringify([bin, 'mcp', '--allow', 'bash'])}, { stdio: ['pipe', 'pipe', 'inherit'] });
    console.log(server.pid);
    const params = { name: 'delegate', arguments: { tasks: [{ task: 'shell ${marker}' }] } };
    server.stdin.write(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) + '\\n');
    setInterval(() => {}, 1000);`,
  );
  const env = { PATH: process.env.PATH, HOME: place.folder, ...createEnvironment(provider) };
  const client = spawn(process.execPath, [program], { cwd: place.folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const lines = createInterface({ input: client.stdout })[Symbol.asyncIterator]();
  const server = Number((await lines.next()).value);
  await waitUntil(() => findCommands(marker).length > 0);
  client.kill('SIGKILL');
  await waitForExit(server);
  expect(findCommands(marker)).toEqual([]);
  expect(await readViews(place)).toEqual(['agent paused', 'client paused']);
  await close();
});
