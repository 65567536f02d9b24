// MCP servers as tests use them: definitions of the real one in its modes, and a world whose runs get their tools.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRedact } from '../../src/config/redact.ts';
import type { Fact } from '../../src/contract/fact.ts';
import type { McpServer } from '../../src/contract/mcp-server.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { ToolSource } from '../../src/ports/tool-source.ts';
import { systemClock } from '../../src/system/clock.ts';
import { createMcp, type Mcp } from '../../src/tools/mcp/index.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

const program = join(import.meta.dirname, 'mcp-server.ts');

export function serverIn(mode = 'plain', more: Partial<McpServer> = {}): McpServer {
  return { command: process.execPath, args: [program, mode], ...more };
}

type Call = { tool: string; args?: object };
type Finished = Extract<Fact, { type: 'tool.finished' }>['data'];

export interface McpWorld {
  world: World;
  mcp: Mcp;
  /** A run whose model makes these calls, one in each turn; what became of them. */
  play(calls: Call[], brief?: object): Promise<Finished[]>;
  /** Of the last run that was created. */
  created(): Extract<Fact, { type: 'run.created' }>['data'];
  [Symbol.asyncDispose](): Promise<void>;
}

export interface McpWorldOptions extends Omit<WorldOptions, 'scripts' | 'env'> {
  servers?: Record<string, McpServer>;
  env?: Record<string, string>;
  /** Of the connections; the run's is another. */
  linkClock?: Clock;
}

export async function createMcpWorld({
  servers = {},
  env: added = {},
  linkClock = systemClock,
  ...more
}: McpWorldOptions): Promise<McpWorld> {
  const env = { PATH: process.env.PATH ?? '', HOME: process.cwd(), ANTHROPIC_API_KEY: 'canary-in-the-mine', ...added };
  const scripts: Record<string, object> = {};
  const later = Promise.withResolvers<Mcp>();
  const toolSource: ToolSource = {
    tools: async (...given) => (await later.promise).tools(...given),
    close: async () => (await later.promise).close(),
  };
  const world = await createWorld({ scripts, ...more, options: { toolSource, ...more.options } });
  const mcp = createMcp({ servers, workspace: world.workspace, env, clock: linkClock, redact: createRedact(env) });
  later.resolve(mcp);
  return {
    world,
    mcp,
    async play(calls, brief = {}) {
      const name = `play-${Object.keys(scripts).length}`;
      scripts[name] = { runs: [{ steps: [...calls.map((call) => ({ calls: [{ args: {}, ...call }] })), { text: 'done' }] }] };
      const run = await world.runtime.start({ task: 'go', model: `script/${name}`, ...brief });
      const outcome = await run.outcome;
      if (!outcome.success) throw new Error(`${outcome.status}: ${outcome.error?.message}`);
      return world.facts.flatMap((fact) => (fact.type === 'tool.finished' && fact.runId === run.id ? [fact.data] : []));
    },
    created: () => (world.facts.findLast((fact) => fact.type === 'run.created') as Extract<Fact, { type: 'run.created' }>).data,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
