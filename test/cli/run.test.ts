import { describe, expect, it } from 'vitest';
import type { Api, LiveEvent, RunHandle } from '../../src/api/api.ts';
import { program } from '../../src/cli/program.ts';
import type { Outcome, OutcomeStatus } from '../../src/contract/outcome.ts';
import { call, childId, created, fact, Left, outcome, playing, rootId, run, world } from './support.ts';

const hash = 'a'.repeat(64);
const allow = { action: 'allow' as const, rule: null, owner: 'built-in' };
const events: LiveEvent[] = [
  created({ notices: ['the price of m/x is not known'] }),
  fact('run.started', { loop: 1, model: 'm/x', system: hash, tools: hash, first: 'x', history: null, deadline: null }),
  { type: 'delta', runId: rootId, turn: 1, kind: 'text', text: 'hm' },
  fact('tool.asked', {
    turn: 1,
    index: 0,
    tool: 'read',
    arguments: { path: 'a\x1b[2J.ts' },
    decision: allow,
    rejected: null,
    idempotent: true,
    waits: false,
  }),
  fact('tool.finished', { turn: 1, index: 0, status: 'error', output: 'no such file', truncated: null, taint: [], told: [] }),
  fact('child.created', { call: null, childId, hash, label: 'part', agent: 'explore', background: false }),
];

describe('the brief', () => {
  const table: [argv: string[], brief: object][] = [
    [['task'], { task: 'task' }],
    [
      ['task', '--agent', 'explore', '--model', 'a/b', '--label', 'l', '--context', 'c'],
      { task: 'task', agent: 'explore', model: 'a/b', label: 'l', context: 'c' },
    ],
    [['task', '--file', 'a', '--file', 'b'], { task: 'task', files: ['a', 'b'] }],
    [['task', '--tools', 'read, grep'], { task: 'task', tools: { allow: ['read', 'grep'] } }],
    [['task', '--tools', ''], { task: 'task', tools: { allow: [] } }],
    [['task', '--output-schema', 's.json'], { task: 'task', result: { schema: { type: 'object' } } }],
    [
      ['task', '--max-turns', '7', '--timeout', '90', '--budget-usd', '0.5', '--budget-tokens', '1000'],
      { task: 'task', limits: { maxTurns: 7, timeoutMs: 90_000, maxCostUsd: 0.5, maxTokens: 1000 } },
    ],
    [['task', '--timeout', '500ms'], { task: 'task', limits: { timeoutMs: 500 } }],
    [['task', '--timeout', '1.5h'], { task: 'task', limits: { timeoutMs: 5_400_000 } }],
    [['review this', '-'], { task: 'review this\n\nthe diff' }],
    [['-'], { task: 'the diff' }],
  ];
  it.each(table)('%j', async (argv, brief) => {
    const io = { readStdin: async () => 'the diff\n', readFile: async () => '\ufeff{"type":"object"}' };
    const { code, io: after } = await run(['run', ...argv], { api: playing([]), io });
    expect(call(after, 'start')).toEqual([brief]);
    expect(call(after, 'open')).toEqual([{ drive: true }]);
    expect([code, after.closed]).toEqual([0, 1]);
  });

  it('keeps rules in the order in which they were written', async () => {
    const { io } = await run(['run', 't', '--deny', 'bash', '--allow', 'bash:git *', '--deny', 'write'], { api: playing([]) });
    expect(call(io, 'settings')).toEqual([expect.objectContaining({ rules: ['deny bash', 'allow bash:git *', 'deny write'] })]);
  });

  it('takes more from standard input than a task holds as context', async () => {
    const { io } = await run(['run', 'review', '-'], { api: playing([]), io: { readStdin: async () => 'x'.repeat(70_000) } });
    expect(call(io, 'start')).toEqual([{ task: 'review', context: 'x'.repeat(70_000) }]);
  });

  it.each([
    ['[1]', /holds no JSON Schema/],
    ['{', /s\.json is not JSON/],
  ])('refuses the schema %s', async (text, said) => {
    const { code, stderr } = await run(['run', 't', '--output-schema', 's.json'], { io: { readFile: async () => text } });
    expect([code, stderr]).toEqual([2, expect.stringMatching(said)]);
  });
});

describe('what is printed', () => {
  it('without a terminal: a line per important fact, then the summary', async () => {
    const { code, stdout, stderr } = await run(['task'], { api: playing(events) });
    expect(stdout).toBe('It is small.\n');
    expect(stderr.split('\n')).toEqual([
      'retinue: the price of m/x is not known',
      'retinue: limits of this tree: 40 turns · 30m00s · 2,000,000 tokens · $5',
      '00000000 started · m/x',
      '00000000 tool read a.ts',
      '00000000 tool read a.ts · error · no such file',
      '00000000 child 00000000 · explore · part',
      '00000000 ended · completed · 2 turns · 1.2k tokens · $0.02 · 3s',
      'completed · 2 turns · 1.2k tokens · $0.02 · 3s · run 00000000 · retinue show 00000000',
      '',
    ]);
    expect(code).toBe(0);
  });

  it('--json: one outcome, its keys in order, the rest on standard error', async () => {
    const shuffled = Object.fromEntries(Object.entries(outcome('completed', { data: { n: 1 } })).toReversed()) as Outcome;
    const { stdout } = await run(['task', '--json'], { api: playing(events, shuffled) });
    expect(stdout.trimEnd()).not.toContain('\n');
    expect(Object.keys(JSON.parse(stdout)).join(' ')).toBe(
      'runId parentId rootId depth label agent status success summary data artifacts error terminated truncated turns tokens costUsd startedAt endedAt durationMs',
    );
  });

  it('--stream-json: facts as lines, without deltas and positions', async () => {
    const { stdout, stderr } = await run(['task', '--stream-json'], { api: playing(events) });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => line.type)).toEqual([
      'run.created',
      'run.started',
      'tool.asked',
      'tool.finished',
      'child.created',
      'run.ended',
    ]);
    expect(Object.keys(lines[0])).toEqual(['runId', 'seq', 'at', 'v', 'type', 'data', 'hash']);
    expect(stderr.split('\n')).toHaveLength(2);
  });

  it('prints data where a form was asked for', async () => {
    const { stdout } = await run(['task'], { api: playing([], outcome('completed', { data: { n: 1 } })) });
    expect(JSON.parse(stdout)).toEqual({ n: 1 });
  });

  it('never passes on orders to the terminal', async () => {
    const { stdout, stderr } = await run(['task'], { api: playing(events, outcome('failed', { summary: '\x1b]52;c;x\x07ok\u202e' })) });
    expect(stdout).toBe('ok\n');
    expect(stdout + stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
  });

  it('tells what of the configuration is left out', async () => {
    const { stderr } = await run(['task'], { api: playing([]), settings: { notices: ['not trusted: `prices` is left out'] } });
    expect(stderr).toContain('retinue: not trusted: `prices` is left out\n');
  });

  it.each<[OutcomeStatus, number]>([
    ['completed', 0],
    ['failed', 1],
    ['exhausted', 3],
    ['timed_out', 4],
    ['cancelled', 130],
  ])('%s is exit code %d', async (status, code) => {
    expect((await run(['task'], { api: playing([], outcome(status)) })).code).toBe(code);
  });
});

describe('on a terminal', () => {
  const tty = { errTTY: true, colour: { out: false, err: false } };

  it('repaints lines on standard error and leaves the last ones standing', async () => {
    let painted = '';
    const io = world({ io: tty });
    const api = playing(events);
    io.open = async () => {
      const watch = api.watch as NonNullable<typeof api.watch>;
      const listening: typeof watch = (listener) =>
        watch((event) => {
          listener(event);
          io.tick();
          painted = io.stderr;
        });
      return { ...api, watch: listening, interrupted: async () => [], close: async () => {} } as Api;
    };
    expect(await program(['task'], io)).toBe(0);
    expect(io.stdout).toBe('It is small.\n');
    expect(painted).toContain('limits of this tree');
    expect(painted).toMatch(/● general +read a\.ts/);
    expect(painted).toMatch(/\x1b\[1A\r✓ general +completed +turn 2 · 3s · 1\.2k tokens · \$0\.02\x1b\[K\x1b\[1B\r$/);
    expect(io.stderr.slice(painted.length)).toMatch(/^completed · 2 turns/);
  });

  it('--plain has no escapes', async () => {
    const { stderr } = await run(['task', '--plain'], { api: playing(events), io: tty });
    expect(stderr).not.toContain('\x1b');
    expect(stderr).toContain('00000000 tool read a.ts\n');
  });
});

describe('Ctrl-C', () => {
  function waiting(hooks: { startLate?: boolean } = {}) {
    const end = Promise.withResolvers<Outcome>();
    const admitted = Promise.withResolvers<void>();
    const cancelled: string[] = [];
    const handle: RunHandle = {
      id: rootId,
      outcome: end.promise,
      cancel: async (reason) => void cancelled.push(reason),
      send: async () => {},
      pause: () => {},
      resume: () => {},
      answer: async () => false,
    };
    if (!hooks.startLate) admitted.resolve();
    const io = world({
      api: {
        start: async () => {
          await admitted.promise;
          return handle;
        },
      },
    });
    return { io, end, admitted, cancelled, code: program(['task'], io) };
  }
  const soon = () => new Promise((resolve) => setTimeout(resolve, 5));

  it('once: cancels the tree, prints what there is, 130', async () => {
    const { io, end, cancelled, code } = waiting();
    await soon();
    io.interrupt();
    expect(cancelled).toEqual(['interrupted']);
    expect(io.stderr).toContain('cancelling; Ctrl-C again leaves at once');
    end.resolve(outcome('cancelled', { summary: 'half of it' }));
    expect(await code).toBe(130);
    expect(io.stdout).toBe('half of it\n');
    expect(io.closed).toBe(1);
  });

  it('twice: leaves at once', async () => {
    const { io, end, code } = waiting();
    await soon();
    io.interrupt();
    expect(() => io.interrupt()).toThrow(new Left(130));
    end.resolve(outcome('cancelled'));
    await code;
  });

  it('before the run is admitted: cancels it as soon as it is', async () => {
    const { io, end, admitted, cancelled, code } = waiting({ startLate: true });
    await soon();
    io.interrupt();
    expect(cancelled).toEqual([]);
    admitted.resolve();
    await soon();
    expect(cancelled).toEqual(['interrupted']);
    end.resolve(outcome('cancelled'));
    expect(await code).toBe(130);
  });

  it('a closed output cancels quietly', async () => {
    const { io, end, cancelled, code } = waiting();
    await soon();
    io.interrupt('closed');
    expect(cancelled).toEqual(['output closed']);
    expect(io.stderr).toBe('');
    end.resolve(outcome('cancelled'));
    expect(await code).toBe(130);
  });
});

it('demo surveys, and says what the machine has and what to try next', async () => {
  const { code, io, stderr } = await run(['demo'], { api: playing(events) });
  expect(call(io, 'settings')).toEqual([expect.objectContaining({ workspace: '/pkg', model: 'offline/surveyor' })]);
  expect(call(io, 'start')).toEqual([expect.objectContaining({ agent: 'general', task: 'Survey this folder' })]);
  expect(stderr).toMatch(/facts of these runs are in \/w\/\.retinue\/retinue\.db[\s\S]*npx retinue ps --all\n[\s\S]*npx retinue logs last/);
  expect(stderr).toMatch(/ANTHROPIC_API_KEY is set[\s\S]*npx retinue run --model anthropic\/x/);
  expect(code).toBe(0);
});
