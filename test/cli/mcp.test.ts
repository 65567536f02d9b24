// `retinue mcp` as a command: what it hands to the server, how it ends, and what `install` asks before it writes.
import { describe, expect, it } from 'vitest';
import type { McpInstallation, McpService } from '../../src/cli/io.ts';
import { program } from '../../src/cli/program.ts';
import { call, Left, run, world } from './support.ts';

const plan: McpInstallation = {
  ...{ client: 'cursor', file: '/home/u/.cursor/mcp.json', exists: true, removed: [], same: false },
  ...{ snippet: '{ "entry": 1 }\n', before: '{}', after: '{ "entry": 1 }' },
};

function installing(answer: string | null, more: Partial<McpInstallation> = {}) {
  const applied: McpInstallation[] = [];
  const mcpInstall = {
    plan: async () => ({ ...plan, ...more }),
    apply: async (installation: McpInstallation) => {
      applied.push(installation);
      return '/home/u/.cursor/mcp.json.before-retinue';
    },
  };
  return { applied, io: { mcpInstall, ask: async () => answer } };
}

describe('mcp', () => {
  it('hands workspace, dialect and limits to the server, and opens where the client is', async () => {
    const { code, io, stdout } = await run(['mcp', '--timeout', '90s', '--max-depth', '2', '--max-concurrent', '3', '--deny', 'bash']);
    const [service] = call(io, 'serveMcp') as [McpService];
    expect([code, stdout]).toEqual([0, '']);
    expect(service).toMatchObject({ fixed: false, limits: { timeoutMs: 90_000, maxDepth: 2, maxConcurrent: 3 } });
    await service.open('/roots/first', { drive: true, asks: false });
    expect(io.calls.filter(([name]) => name === 'settings').at(-1)?.[1]).toMatchObject({ workspace: '/roots/first', rules: ['deny bash'] });
    expect(call(io, 'open')).toEqual([{ drive: true, startsRuns: true, dialect: undefined }]);
  });

  it('is asked to stop by a signal, leaves at a second one, and by itself after a while', async () => {
    const io = world({
      io: {
        async serveMcp({ stop, leaving }: McpService) {
          expect(stop.aborted).toBe(false);
          io.interrupt();
          expect(stop.aborted).toBe(true);
          leaving();
          expect(() => io.tick()).toThrow(new Left(1));
          expect(() => io.interrupt()).toThrow(new Left(130));
        },
      },
    });
    expect(await program(['mcp'], io)).toBe(0);
    io.tick();
    io.interrupt();
  });
});

describe('mcp install', () => {
  it.each([
    ['y', 0, 1],
    ['yes', 0, 1],
    ['n', 1, 0],
    ['', 1, 0],
    [null, 2, 0],
  ])('shows what it would write and asks: %j', async (answer, expected, times) => {
    const { applied, io } = installing(answer);
    const { code, stdout } = await run(['mcp', 'install', 'cursor'], { io });
    expect([code, applied]).toEqual([expected, Array(times).fill(plan)]);
    expect(stdout).toBe('This goes into /home/u/.cursor/mcp.json:\n\n{ "entry": 1 }\n\n');
  });

  it('asks nothing where there is nothing to do, or --yes or --print was given', async () => {
    const same = installing('n', { same: true });
    expect([(await run(['mcp', 'install', 'cursor'], { io: same.io })).code, same.applied]).toEqual([0, []]);
    const yes = installing(null);
    const done = await run(['mcp', 'install', 'cursor', '--yes'], { io: yes.io });
    expect([done.code, yes.applied, done.stderr]).toEqual([0, [plan], expect.stringContaining('mcp.json.before-retinue')]);
    const print = installing('y');
    const printed = await run(['mcp', 'install', 'cursor', '--print'], { io: print.io });
    expect([printed.code, printed.stdout, print.applied]).toEqual([0, plan.snippet, []]);
  });
});
