// A world in memory for the command line: what it prints is kept, its API is a table of answers, time stands still.
import type { Api, LiveEvent, Question, RunDetail, RunHandle, RunView } from '../../src/api/api.ts';
import type { Io, Stop } from '../../src/cli/io.ts';
import { program } from '../../src/cli/program.ts';
import type { Settings, SettingsFlags } from '../../src/cli/settings.ts';
import type { Fact, FactData, FactType, StoredFact } from '../../src/contract/fact.ts';
import type { Grant } from '../../src/contract/grant.ts';
import { defaultLimits, type EffectiveLimits } from '../../src/contract/limits.ts';
import type { Outcome, OutcomeStatus } from '../../src/contract/outcome.ts';
import { native } from '../../src/dialects/native.ts';

export const rootId = '00000000000000a0';
export const childId = '00000000000000b1';
const start = Date.parse('2026-01-02T03:04:05.000Z');
const hash = 'f'.repeat(64);

export function at(ms: number): string {
  return new Date(start + ms).toISOString();
}

let seq = 0;

export function fact<T extends FactType>(type: T, data: FactData[T], options: { runId?: string; ms?: number } = {}): StoredFact {
  seq += 1;
  return {
    runId: options.runId ?? rootId,
    seq,
    at: at(options.ms ?? 0),
    v: 1,
    type,
    data,
    hash,
    position: `p${seq}`,
  } as unknown as StoredFact;
}

export const limits = Object.fromEntries(
  Object.entries(defaultLimits).map(([name, value]) => [name, { value, from: 'default' }]),
) as EffectiveLimits;

export const grant: Grant = { workspace: '/w', rulesets: [], limits, notAfter: null, tools: ['read', 'grep'] };

export function created(
  options: { runId?: string; parentId?: string; label?: string; agent?: string; notices?: string[] } = {},
): StoredFact {
  const { runId = rootId, parentId = null, label, agent = 'general', notices = [] } = options;
  const brief = { task: 'look around', ...(label === undefined ? {} : { label }) };
  const data = { brief, grant, kind: 'agent' as const, parentId, rootId, depth: parentId ? 1 : 0, agent, model: 'm/x', dialect: 'native' };
  return fact('run.created', { ...data, host: 'inline', parentCall: null, notices }, { runId });
}

export function question(more: Partial<Question> = {}): Question {
  const { turn = 1, index = 0, runId = rootId } = more;
  return {
    ...{ id: `${runId}.${turn}.${index}`, runId, rootId, agent: 'general', label: null, turn, index, tool: 'bash', hash },
    ...{ arguments: { command: 'ls' }, subjects: ['ls'], decision: { action: 'ask', rule: 'ask bash', owner: 'built-in' } },
    ...{ askedAt: at(0), expiresAt: at(600_000) },
    ...more,
  };
}

export function outcome(status: OutcomeStatus = 'completed', more: Partial<Outcome> = {}): Outcome {
  const error = status === 'completed' ? null : { code: 'empty' as const, message: 'nothing came', retryable: false };
  return {
    ...{ runId: rootId, parentId: null, rootId, depth: 0, label: null, agent: 'general', status, success: status === 'completed' },
    ...{ summary: 'It is small.', artifacts: [], error, terminated: null, truncated: null, turns: 2 },
    ...{ tokens: { input: 1000, output: 200, cached: 0, reasoning: 0 }, costUsd: 0.02 },
    ...{ startedAt: at(0), endedAt: at(3000), durationMs: 3000 },
    ...more,
  };
}

export function view(more: Partial<RunView> = {}): RunView {
  return {
    ...{ runId: rootId, parentId: null, rootId, depth: 0, kind: 'agent', label: null, agent: 'general', status: 'running', turns: 1 },
    ...{ tokens: { input: 10, output: 5, cached: 0, reasoning: 0 }, costUsd: null, startedAt: at(0), endedAt: null, driven: true },
    ...more,
  } as RunView;
}

export function detail(more: Partial<RunDetail> = {}): RunDetail {
  return { ...view(), brief: { task: 'look around' }, grant, servers: {}, outcome: null, taint: [], children: [], ...more };
}

export function settings(more: Partial<Settings> = {}): Settings {
  return {
    ...{ workspace: '/w', model: null, limits: { config: {}, command: {} }, ownerRules: [], narrowingRules: [] },
    db: { path: '/w/.retinue/retinue.db', from: 'built-in' },
    sandbox: { value: 'auto', from: 'built-in' },
    durability: { value: 'normal', from: 'built-in' },
    ...{ providers: {}, prices: {}, mcpServers: {}, env: {}, dialects: {}, notices: [], sources: [], files: [], trust: [] },
    agents: () => ({ list: [], refused: [], warnings: [], trust: [], untrusted: [] }),
    ...more,
  };
}

export interface World extends Io {
  stdout: string;
  stderr: string;
  /** Calls of the API and of the settings, in order. */
  calls: [name: string, ...unknown[]][];
  interrupt(why?: Stop): void;
  tick(): void;
  clock: number;
  closed: number;
}

export interface Play {
  api?: Partial<Api>;
  io?: Partial<Io>;
  settings?: Partial<Settings>;
}

/** Leaves the program as `process.exit` does: nothing after it runs. */
export class Left extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`left with ${code}`);
    this.code = code;
  }
}

export function world(play: Play = {}): World {
  const handlers = new Set<(why: Stop) => void>();
  const timers = new Set<() => void>();
  const note =
    (name: string, answer: (...args: never[]) => unknown) =>
    (...args: never[]) => {
      made.calls.push([name, ...args]);
      return answer(...args);
    };
  const api = {
    find: async (id: string) => (id === 'last' ? rootId : id.padEnd(16, '0')),
    ps: async () => [],
    interrupted: async () => [],
    questions: async () => [],
    show: async () => detail(),
    logs: async () => [],
    agents: () => [],
    async *follow() {},
    watch: () => () => {},
    ...play.api,
  } as Api;
  const noted = Object.fromEntries(Object.entries(api).map(([name, fn]) => [name, note(name, fn as never)])) as unknown as Api;
  const made: World = {
    ...{ version: '9.9.9', stdout: '', stderr: '', calls: [], clock: start, closed: 0 },
    ...{ outTTY: false, errTTY: false, colour: { out: false, err: false }, columns: () => 80, rows: () => 24 },
    out(text) {
      made.stdout += text;
    },
    err(text) {
      made.stderr += text;
    },
    readStdin: async () => '',
    readFile: async () => '{}',
    async *lines() {},
    output: async () => ({ write: async (text) => made.out(text), end: async () => {}, drop: async () => {} }),
    findFile: async (_, path) => path,
    onInterrupt(handler) {
      handlers.add(handler);
      return () => void handlers.delete(handler);
    },
    exitNow(code) {
      throw new Left(code);
    },
    now: () => made.clock,
    every(_, run) {
      timers.add(run);
      return () => void timers.delete(run);
    },
    settings: async (flags: SettingsFlags) => {
      made.calls.push(['settings', flags]);
      return settings(play.settings);
    },
    open: async (_, options) => {
      made.calls.push(['open', options]);
      return { ...noted, close: async () => void made.closed++ };
    },
    dialect: async () => native,
    serveMcp: async (service) => {
      made.calls.push(['serveMcp', service]);
    },
    mcpInstall: {
      plan: async () => Promise.reject(new Error('no plan')),
      apply: async () => null,
    },
    rightsDemo: async () => {
      throw new Error('no ground');
    },
    crashDemo: async () => {
      throw new Error('no processes here');
    },
    demo: async () => ({
      about: 'a demonstration',
      task: 'Survey this folder',
      workspace: '/pkg',
      model: 'offline/surveyor',
      db: null,
      command: 'npx retinue',
      found: async () => ({ here: ['ANTHROPIC_API_KEY is set: anthropic/x'], next: 'npx retinue run --model anthropic/x "explain"' }),
    }),
    policy: async () => Promise.reject(new Error('no policy')),
    explain: async () => Promise.reject(new Error('nothing to explain')),
    memories: async () => Promise.reject(new Error('no memories')),
    trust: { list: async () => [], add: async () => {}, revoke: async () => [] },
    origin: { assert: async () => {}, adopt: async () => {} },
    doctor: async () => [],
    interactive: false,
    ask: async () => null,
    detach: async (request) => {
      made.calls.push(['detach', request]);
      return { runId: rootId, log: '/w/.retinue/logs/x.log' };
    },
    interrupt: (why = 'interrupt') => {
      for (const handler of [...handlers]) handler(why);
    },
    tick: () => {
      for (const timer of [...timers]) timer();
    },
    ...play.io,
  };
  return made;
}

/** An API whose one run says these events and then ends so. */
export function playing(events: LiveEvent[], result: Outcome = outcome(), hooks: { cancel?: (reason: string) => void } = {}): Partial<Api> {
  let tell: (event: LiveEvent) => void = () => {};
  const go = async (): Promise<RunHandle> => {
    const ended = (async () => {
      await Promise.resolve();
      for (const event of events) tell(event);
      tell(fact('run.ended', { outcome: result }, { ms: 3000 }) as Fact);
      return result;
    })();
    return {
      id: rootId,
      outcome: ended,
      cancel: async (reason) => hooks.cancel?.(reason),
      send: async () => {},
      pause: () => {},
      resume: () => {},
      answer: async () => false,
    };
  };
  return {
    start: go,
    message: async () => ({ kind: 'continued', handle: await go() }),
    watch: (listener) => {
      tell = listener;
      return () => {
        tell = () => {};
      };
    },
  };
}

export async function run(argv: string[], play: Play = {}): Promise<{ code: number; io: World; stdout: string; stderr: string }> {
  const io = world(play);
  const code = await program(argv, io);
  return { code, io, stdout: io.stdout, stderr: io.stderr };
}

/** The arguments of the first call of that name. */
export function call(io: World, name: string): unknown[] | undefined {
  return io.calls.find(([called]) => called === name)?.slice(1);
}
