// `retinue mcp` as a command: what it hands to the server, how it ends, and what `install` asks before it writes.
import { describe, expect, it } from 'vitest';
import type { Io, McpInstallation, McpService } from '../../src/cli/io.ts';
import { createCli, ExitNow } from './support.ts';

const plan: McpInstallation = {
  ...{ client: 'cursor', file: '/home/u/.cursor/mcp.json', exists: true, removed: [], same: false },
  ...{ snippet: '{ "entry": 1 }\n', before: '{}', after: '{ "entry": 1 }' },
  server: { command: 'node', args: ['retinue.js', 'mcp'], variables: [] },
};

type Tried = Awaited<ReturnType<Io['mcpInstall']['test']>>;
const working: Tried = { ok: true, tools: ['delegate', 'delegate_wait'] };

function createInstaller(answer: string | null, more: Partial<McpInstallation> = {}, tried = working) {
  const applied: McpInstallation[] = [];
  const mcpInstall: Io['mcpInstall'] = {
    plan: async () => ({ ...plan, ...more }),
    apply: async (installation) => {
      applied.push(installation);
      return '/home/u/.cursor/mcp.json.before-retinue';
    },
    variables: async () => ({ names: [], missing: null }),
    test: async () => tried,
  };
  return { applied, io: { mcpInstall, ask: async () => answer } };
}

describe('mcp', () => {
  it('a client opens its own workspace with the rules and limits of the flags', async () => {
    using cli = createCli({ files: { 'first/script.json': { runs: [{ steps: [{ text: 'done' }] }] } } });
    const serveMcp = async (service: McpService) => {
      expect(service).toMatchObject({
        fixed: false,
        limits: { timeoutMs: 90_000, maxDepth: 2, maxConcurrent: 3 },
        dialect: { name: 'native' },
      });
      const api = await service.open(`${cli.folder}/first`, { drive: true, asks: false });
      await api.setBudget({ name: 'team', tokens: 1_000_000, costUsd: null, per: 'day', timezone: 'UTC', whenExceeded: 'pause' });
      const { id, outcome } = await api.start({ task: 'x' });
      await outcome;
      const { grant } = await api.show(id);
      expect(grant?.workspace).toBe(`${cli.folder}/first`);
      expect(grant?.budgets).toEqual(['team']);
      expect(grant?.rulesets[0]?.rules.at(-1)).toMatchObject({ action: 'deny', tool: 'bash' });
      await api.close();
    };
    const flags = ['--timeout', '90s', '--max-depth', '2', '--max-concurrent', '3', '--budget', 'team', '--deny', 'bash'];
    expect(await cli.run(['mcp', ...flags], { serveMcp })).toMatchObject({ code: 0, stdout: '' });
  });

  it('stops at a signal, exits at a second one, and exits without one if stopping takes too long', async () => {
    using cli = createCli();
    const { io, code } = cli.start(['mcp'], {
      async serveMcp({ stop, leaving }) {
        expect(stop.aborted).toBe(false);
        io.stop();
        expect(stop.aborted).toBe(true);
        leaving();
        expect(() => io.tick()).toThrow(new ExitNow(1));
        expect(() => io.stop()).toThrow(new ExitNow(130));
      },
    });
    expect(await code).toBe(0);
    io.tick();
    io.stop();
  });
});

describe('mcp install', () => {
  it.each([
    ['y', 0, 1],
    ['yes', 0, 1],
    ['n', 1, 0],
    ['', 1, 0],
    [null, 2, 0],
  ])('shows the change and asks before writing: %j', async (answer, expected, times) => {
    using cli = createCli();
    const { applied, io } = createInstaller(answer);
    const { code, stdout } = await cli.run(['mcp', 'install', 'cursor'], io);
    expect([code, applied]).toEqual([expected, Array(times).fill(plan)]);
    expect(stdout).toBe('Entry to add to /home/u/.cursor/mcp.json:\n\n{ "entry": 1 }\n\n');
  });

  it('asks nothing if there is nothing to do, or with --yes or --print', async () => {
    using cli = createCli();
    const same = createInstaller('n', { same: true });
    expect([(await cli.run(['mcp', 'install', 'cursor'], same.io)).code, same.applied]).toEqual([0, []]);
    const yes = createInstaller(null);
    const done = await cli.run(['mcp', 'install', 'cursor', '--yes'], yes.io);
    expect([done.code, yes.applied, done.stderr]).toEqual([0, [plan], expect.stringContaining('mcp.json.before-retinue')]);
    const print = createInstaller('y');
    const printed = await cli.run(['mcp', 'install', 'cursor', '--print'], print.io);
    expect([printed.code, printed.stdout, print.applied]).toEqual([0, plan.snippet, []]);
  });

  it('fails if the installed server does not start', async () => {
    using cli = createCli();
    const { io } = createInstaller('y', {}, { ok: false, reason: 'no such file' });
    const { code, stderr } = await cli.run(['mcp', 'install', 'cursor'], io);
    expect([code, stderr]).toEqual([1, expect.stringContaining('tested: the server does not start: no such file\n')]);
  });

  it('warns if no model is configured', async () => {
    using cli = createCli({ env: { RETINUE_MODEL: '' } });
    const { io } = createInstaller('y');
    const models = { ...cli.parts.models, advice: async () => 'set RETINUE_MODEL' };
    const { code, stderr } = await cli.run(['mcp', 'install', 'cursor'], { ...io, models });
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('delegated runs will be refused unless they name a model: set RETINUE_MODEL\n'),
    ]);
  });

  it('rejects an unknown dialect and an unknown client before it writes', async () => {
    using cli = createCli();
    const { applied, io } = createInstaller('y');
    expect((await cli.run(['mcp', 'install', 'cursor', '--dialect', 'natve'], io)).code).toBe(2);
    expect(await cli.run(['mcp', 'install', 'cursr'], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean `cursor`'),
    });
    expect(applied).toEqual([]);
  });
});
