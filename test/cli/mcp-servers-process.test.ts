// MCP servers through the program itself: configured, trusted, used, shown, and gone afterwards.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isRunning, serverIn } from '../support/mcp.ts';
import { createPlace, type Place } from './support-process.ts';

const calls = (...tools: object[]) => ({
  runs: [{ times: 'any', steps: [...tools.map((call) => ({ calls: [call] })), { text: 'done' }] }],
});
const canary = { ANTHROPIC_API_KEY: 'canary-in-the-mine' };

function write({ folder }: Place, path: string, value: object | string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
}

async function results(place: Place): Promise<{ output: string; status: string }[]> {
  const { out } = await place.run('logs', 'last', '--json');
  const facts = JSON.parse(out) as { type: string; data: { output: string; status: string } }[];
  return facts.filter(({ type }) => type === 'tool.finished').map(({ data }) => data);
}

describe('an MCP server of the user', () => {
  it('serves a run and ends with it, and its key appears nowhere', async () => {
    using place = createPlace(calls({ tool: 'mcp__demo__where', args: {} }, { tool: 'mcp__demo__env', args: {} }), canary);
    write(place, '.config/retinue/config.json', { mcpServers: { demo: serverIn() } });
    const { code, err } = await place.run('run', 'go');
    expect(code, err).toBe(0);
    const [where, env] = await results(place);
    const { pid, roots } = JSON.parse(where?.output ?? '') as { pid: number; roots: { uri: string }[] };
    expect(isRunning(pid)).toBe(false);
    expect(roots).toHaveLength(1);
    expect(env?.status).toBe('ok');
    expect(env?.output).toContain('RETINUE_MCP_SERVER');
    expect(env?.output).not.toMatch(/ANTHROPIC|canary/);
  });

  it('cannot put the value of its variables into a fact', async () => {
    const route = { ROUTE: 'canary-in-env-from' };
    using place = createPlace(calls({ tool: 'mcp__demo__env', args: {} }), route);
    write(place, '.config/retinue/config.json', { mcpServers: { demo: serverIn('plain', { envFrom: ['ROUTE'] }) } });
    await place.run('run', 'go');
    expect(await results(place)).toMatchObject([{ status: 'ok', output: expect.stringContaining('"ROUTE":"[secret ROUTE]"') }]);
  });

  it('that fails causes a notice, and the run continues', async () => {
    using place = createPlace(calls());
    write(place, '.config/retinue/config.json', { mcpServers: { demo: serverIn('exit') } });
    const { code, err } = await place.run('run', 'go');
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('MCP server demo cannot be used, so its tools are left out: it ended with exit code 1'),
    ]);
  });

  it('is subject to rules and --tools', async () => {
    using place = createPlace(calls({ tool: 'mcp__demo__echo', args: { text: 'a' } }, { tool: 'mcp__demo__fail', args: {} }));
    write(place, '.config/retinue/config.json', { mcpServers: { demo: serverIn() } });
    expect((await place.run('run', '--deny', 'mcp__demo__echo', '--tools', 'mcp__demo__*', 'go')).code).toBe(0);
    expect(await results(place)).toMatchObject([{ status: 'denied' }, { status: 'error', output: 'it went wrong' }]);
    const wrong = await place.run('run', '--deny', 'mcp__demo', 'go');
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('write `mcp__demo__*`')]);
  });

  // One that ignores the end of its input is ended by the system, where that can be asked to.
  it.each(existsSync('/usr/bin/setpriv') ? ['plain', 'stubborn'] : ['plain'])(
    'does not outlive a program that is killed: %s',
    async (mode) => {
      using place = createPlace(calls({ tool: 'mcp__demo__hang', args: {} }));
      write(place, '.config/retinue/config.json', { mcpServers: { demo: serverIn(mode) } });
      const { process: child, finished } = place.start('run', 'go');
      await place.facts((facts) => facts.some(({ type }) => type === 'tool.asked'));
      const server = childOf(child.pid as number);
      child.kill('SIGKILL');
      await finished;
      while (isRunning(server)) await new Promise((resolve) => setTimeout(resolve, 10));
    },
  );
});

describe('an MCP server of a workspace', () => {
  it('is started only after trust', async () => {
    using place = createPlace(calls({ tool: 'mcp__demo__where', args: {} }));
    write(place, 'retinue.config.json', { mcpServers: { demo: serverIn() } });
    const before = await place.run('run', 'go');
    expect(before.err).toContain('not trusted: `mcpServers` in');
    expect(await results(place)).toMatchObject([{ status: 'error', output: expect.stringContaining('mcp__demo__where') }]);
    expect((await place.run('trust', '--yes')).code).toBe(0);
    expect((await place.run('run', 'go')).code).toBe(0);
    expect(await results(place)).toMatchObject([{ status: 'ok', output: expect.stringContaining(`"cwd":"${place.folder}"`) }]);
  });
});

it('config, doctor and explain show servers without values', async () => {
  using place = createPlace(calls(), canary);
  write(place, '.config/retinue/config.json', { mcpServers: { demo: serverIn('plain', { env: { MY_TOKEN: 'canary-env-value' } }) } });
  const own = 'mcpServers: [demo, { own: { url: "http://127.0.0.1:9/", headers: { authorization: canary-header } } }]';
  write(place, '.config/retinue/agents/mine.md', `---\nname: mine\ndescription: Mine.\n${own}\n---\nYou are mine.\n`);
  const shown = await Promise.all([
    place.run('config'),
    place.run('doctor'),
    place.run('agents', 'explain', 'general'),
    place.run('agents', '--json'),
  ]);
  expect(shown[0]?.out).toMatch(/mcpServers\.demo +\{.*"env":\["MY_TOKEN"\]/);
  expect(shown[1]?.out).toMatch(/mcp demo +answers; 15 tools/);
  expect(shown[2]?.out).toMatch(/mcp__demo__\* +allow +allow mcp__\* \(built-in\)/);
  expect(JSON.parse(shown[3]?.out ?? '').find(({ name }: { name: string }) => name === 'mine').mcpServers).toEqual(['demo', 'own']);
  for (const { out, err } of shown) expect(out + err).not.toContain('canary');
});

/** The MCP server that a process has started. */
function childOf(parent: number): number {
  const isOwn = new RegExp(`^PPid:\\s+${parent}$`, 'm');
  const found = readdirSync('/proc').find((pid) => {
    try {
      return (
        isOwn.test(readFileSync(`/proc/${pid}/status`, 'utf8')) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('mcp-server.ts')
      );
    } catch {
      return false;
    }
  });
  return Number(found);
}
