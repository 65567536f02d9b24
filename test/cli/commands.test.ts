import { describe, expect, it } from 'vitest';
import { program } from '../../src/cli/program.ts';
import { RetinueError } from '../../src/contract/error.ts';
import { at, call, childId, created, detail, fact, grant, outcome, playing, rootId, run, settings, view, world } from './support.ts';

const runKeys = 'runId parentId rootId depth kind label agent status turns tokens costUsd startedAt endedAt';
const keys = (value: object) => Object.keys(value).join(' ');

describe('ps', () => {
  const runs = [view({ runId: childId, parentId: rootId, label: 'a\x1b[2Jb', status: 'interrupted', driven: false }), view()];

  it('--json is an array of runs as they come, keys in order', async () => {
    const { code, stdout, io } = await run(['ps', '--all', '--json'], { api: { ps: async () => runs.map((r) => ({ extra: 1, ...r })) } });
    const printed = JSON.parse(stdout);
    expect(printed.map((r: { runId: string }) => r.runId)).toEqual([childId, rootId]);
    expect(keys(printed[0])).toBe(runKeys);
    expect([code, call(io, 'ps'), call(io, 'open')]).toEqual([0, [{ all: true }], [{ drive: false }]]);
  });

  it('is an empty array where there is nothing', async () => {
    expect((await run(['ps', '--json'])).stdout).toBe('[]\n');
    expect(await run(['ps'])).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('no live runs') });
  });

  it('is an aligned table for people', async () => {
    const { stdout } = await run(['ps'], { api: { ps: async () => runs }, io: { now: () => Date.parse(at(65_000)) } });
    expect(stdout.split('\n')).toEqual([
      'RUN       STATUS       AGENT    TURNS  TOKENS    STARTED   TIME  PARENT    LABEL',
      '00000000  interrupted  general      1      15  1m05s ago  1m05s  00000000  ab',
      '00000000  running      general      1      15  1m05s ago  1m05s',
      '',
    ]);
  });

  it('has colour only where it may', async () => {
    const { stdout } = await run(['ps'], { api: { ps: async () => runs }, io: { colour: { out: true, err: false } } });
    expect(stdout).toContain('\x1b[36mrunning');
  });
});

describe('show', () => {
  const one = detail({ children: [view({ runId: childId, parentId: rootId })], outcome: outcome('failed'), status: 'failed' });

  it('--json is the run plus brief, grant, outcome and children', async () => {
    const { code, stdout, io } = await run(['show', 'last', '--json'], { api: { show: async () => one } });
    const printed = JSON.parse(stdout);
    expect(keys(printed)).toBe(`${runKeys} brief grant servers outcome taint children`);
    const { driven: _, ...shown } = one;
    const children = one.children.map(({ driven: _own, ...child }) => child);
    expect(printed).toEqual({ ...shown, children });
    expect([code, call(io, 'find'), call(io, 'show')]).toEqual([0, ['last'], [rootId]]);
  });

  it('reads well', async () => {
    const { stdout } = await run(['show', 'last'], { api: { show: async () => one } });
    expect(stdout).toMatch(/status +failed · 2 turns.*empty: nothing came\n/);
    expect(stdout).toMatch(/limits +40 turns · 30m00s · 2,000,000 tokens · \$5\n/);
    expect(stdout).toMatch(/Task\nlook around\n\nSummary\nIt is small\.\n\nChildren\nRUN/);
  });

  it.each(['unknown_run', 'ambiguous_id'] as const)('%s is exit code 1', async (code) => {
    const find = async () => Promise.reject(new RetinueError(code, 'there is no such run'));
    expect(await run(['show', 'x'], { api: { find } })).toMatchObject({ code: 1, stdout: '', stderr: 'retinue: there is no such run\n' });
  });
});

describe('logs', () => {
  const facts = [created(), fact('message.received', { from: 'the user', text: 'hi\nthere' }), fact('run.ended', { outcome: outcome() })];

  it('--json is an array of facts without the cursor', async () => {
    const { stdout, io } = await run(['logs', 'last', '--json', '--tree'], { api: { logs: async () => facts } });
    const printed = JSON.parse(stdout);
    expect(printed).toHaveLength(3);
    expect(keys(printed[0])).toBe('runId seq at v type data hash');
    expect(call(io, 'logs')).toEqual([rootId, { tree: true }]);
  });

  it('is a line per fact for people', async () => {
    const { stdout } = await run(['logs', 'last'], { api: { logs: async () => facts } });
    expect(stdout.split('\n')).toEqual([
      '03:04:05.000 00000000 run.created       general · look around',
      '03:04:05.000 00000000 message.received  from the user · hi there',
      '03:04:05.000 00000000 run.ended         completed · 2 turns · 1.2k tokens · $0.02 · 3s',
      '',
    ]);
  });

  it('-f --json is JSON Lines as they come', async () => {
    const follow = async function* () {
      yield* facts;
    };
    const { code, stdout } = await run(['logs', 'last', '-f', '--json'], { api: { follow } });
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).type),
    ).toEqual(facts.map((f) => f.type));
    expect(code).toBe(0);
  });

  it.each([
    ['interrupt', 130],
    ['closed', 0],
  ] as const)('-f ends at %s with %d', async (why, expected) => {
    const follow = async function* (_: string, { signal }: { signal: AbortSignal }) {
      yield facts[0]!;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const io = world({ api: { follow } });
    const code = program(['logs', 'last', '-f'], io);
    await new Promise((resolve) => setTimeout(resolve, 5));
    io.interrupt(why);
    expect([await code, io.closed]).toEqual([expected, 1]);
  });

  it('-f prints what there is of a run that nobody drives, and ends', async () => {
    const follow = async function* (_: string, { signal }: { signal: AbortSignal }) {
      if (signal.aborted) return;
      yield facts[0]!;
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const logs = async (_: string, options?: { after?: string }) =>
      options?.after === facts[0]!.position ? facts.slice(1, 2) : facts.slice(0, 2);
    const result = await run(['logs', 'last', '-f'], {
      api: { follow, logs, show: async () => detail({ status: 'interrupted', driven: false }) },
    });
    expect(result.stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('the process that drove it is gone') });
  });
});

describe('wait', () => {
  const cases: [argv: string[], outcomes: (ReturnType<typeof outcome> | null)[], code: number][] = [
    [['a'], [outcome()], 0],
    [['a'], [outcome('exhausted')], 3],
    [['a', 'b'], [outcome(), outcome('timed_out')], 4],
    [['a', 'b'], [outcome('cancelled'), outcome('failed')], 130],
    [['a', 'b', '--any'], [null, outcome('failed')], 1],
    [['a', 'b', '--any'], [null, outcome()], 0],
  ];
  it.each(cases)('%j', async (argv, outcomes, code) => {
    const { code: got, stdout, io } = await run(['wait', ...argv, '--json'], { api: { wait: async () => outcomes } });
    expect(got).toBe(code);
    expect(JSON.parse(stdout)).toEqual(outcomes);
    expect(call(io, 'wait')?.[0]).toEqual(argv.filter((word) => word !== '--any').map((word) => word.padEnd(16, '0')));
  });

  it('prints one outcome as run does, several as lines', async () => {
    expect((await run(['wait', 'a'], { api: { wait: async () => [outcome()] } })).stdout).toBe('It is small.\n');
    const two = await run(['wait', 'a', 'b'], { api: { wait: async () => [outcome(), outcome('failed')] } });
    expect(two.stdout).toMatch(/^00000000 completed · .*\n00000000 failed · .*\n$/);
  });

  const untilAborted =
    (how: 'nulls' | 'throws') =>
    async (ids: string[], { signal }: { signal: AbortSignal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      if (how === 'throws') throw new Error('aborted');
      return ids.map(() => null);
    };

  it.each(['nulls', 'throws'] as const)('gives up at --timeout with 4, and the runs go on (%s)', async (how) => {
    const io = world({ api: { wait: untilAborted(how) } });
    const code = program(['wait', 'a', '--timeout', '10s', '--json'], io);
    await new Promise((resolve) => setTimeout(resolve, 5));
    io.tick();
    expect([await code, io.stdout]).toEqual([4, '[null]\n']);
    expect(io.stderr).toContain('still not ended after 10s: a0000000');
  });

  it('does not wait for a run whose process is gone', async () => {
    const { code, stderr } = await run(['wait', 'a'], {
      api: { wait: untilAborted('nulls'), show: async () => detail({ status: 'interrupted', driven: false }) },
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining('a0000000 will not end by itself')]);
  });
});

describe('cancel', () => {
  it('says what became of each', async () => {
    const cancel = async (ids: string[]) => ids.map((runId, i) => ({ runId, result: (['asked', 'ended', 'already'] as const)[i]! }));
    const { code, stdout, io } = await run(['cancel', 'a', 'b', 'c', '--reason', 'enough'], { api: { cancel } });
    expect(stdout).toBe('a0000000 is being cancelled\nb0000000 ended; no process was driving it\nc0000000 had already ended\n');
    expect([code, call(io, 'cancel')?.[1], call(io, 'open')]).toEqual([0, 'enough', [{ drive: true }]]);
  });
});

describe('message', () => {
  it('steers a live run', async () => {
    const { code, stdout, io } = await run(['message', 'last', 'look', 'there'], { api: { message: async () => ({ kind: 'sent' }) } });
    expect([code, stdout]).toEqual([0, '00000000 reads it at its next turn\n']);
    expect(call(io, 'message')).toEqual([rootId, 'look there', { rules: [] }]);
  });

  it('shows the answer of a finished one', async () => {
    const { code, stdout } = await run(['message', 'last', 'why?'], { api: playing([created()], outcome('failed')) });
    expect([code, stdout]).toEqual([1, 'It is small.\n']);
  });
});

describe('config', () => {
  const configured = settings({
    sources: [{ key: 'limits.maxTurns', value: 12, from: '/w/retinue.config.json' }],
    narrowingRules: [{ owner: 'workspace retinue.config.json', rules: ['deny bash'] }],
    notices: ['not trusted: `prices` is left out'],
    files: [{ path: '/w/retinue.config.json', role: 'workspace', found: true }],
  });

  it('shows values with where they came from, without a database', async () => {
    const { code, stdout, io } = await run(['config'], { settings: configured });
    expect(stdout).toMatch(/limits\.maxTurns +12 +\/w\/retinue\.config\.json/);
    expect(stdout).toMatch(/can only narrow[\s\S]*deny bash[\s\S]*Left out\n {2}not trusted/);
    expect([code, call(io, 'open')]).toEqual([0, undefined]);
  });

  it('--json', async () => {
    const { stdout } = await run(['config', '--json'], { settings: configured });
    expect(JSON.parse(stdout)).toMatchObject({
      workspace: '/w',
      values: { 'limits.maxTurns': { value: 12, from: '/w/retinue.config.json' } },
      rules: [{ kind: 'narrowing', owner: 'workspace retinue.config.json', rules: ['deny bash'] }],
    });
  });
});

it('the grant in show keeps its shape', async () => {
  const { stdout } = await run(['show', 'last', '--json']);
  expect(JSON.parse(stdout).grant).toEqual(grant);
});
