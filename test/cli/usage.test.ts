import { describe, expect, it } from 'vitest';
import { RetinueError } from '../../src/contract/error.ts';
import { call, playing, run } from './support.ts';

describe('wrong usage is exit code 2 and says what is right', () => {
  const table: [argv: string[], said: RegExp][] = [
    [['ps', '--jsn'], /unknown flag `--jsn`; did you mean `--json`\?/],
    [['run', '--modle', 'x', 'task'], /unknown flag `--modle`; did you mean `--model`\?/],
    [['run', 'task', '--detatch'], /unknown flag `--detatch`; did you mean `--detach`\?/],
    [['run', 'task', '--detach', '--stream-json'], /exclude each other/],
    [['run', 'task', '--dialct', 'dex'], /unknown flag `--dialct`/],
    [['run', '-x', 'task'], /unknown flag `-x`.*put `--` before/],
    [['run', '--json=yes', 'task'], /--json takes no value/],
    [['run', '--agent'], /--agent needs a value: --agent NAME/],
    [['run', 'task', '--agent', '--json'], /--agent needs a value/],
    [['run', 'task', '--json', '--stream-json'], /exclude each other/],
    [['run'], /a task is missing/],
    [['run', '  '], /a task is missing/],
    [['show'], /something is missing; usage: retinue show ID/],
    [['show', 'me', 'the', 'code'], /`the code` is too much.*retinue run "show me the code"/],
    [['message', 'last'], /something is missing/],
    [['agents', 'explain'], /which agent\? usage: retinue agents explain NAME/],
    [['agents', 'explain', 'general', 'now'], /`now` is too much/],
    [['agents', 'of', 'change'], /`change` is too much|`of` is too much.*retinue run "agents of change"/],
    [['memory'], /something is missing; usage: retinue memory add TITLE TEXT/],
    [['memory', 'leak', 'in', 'main'], /`leak` is none of add, list and rm.*retinue run "memory leak …"/],
    [['memory', 'add', 'title'], /the text is missing/],
    [['memory', 'add', ' ', 'text'], /the title is missing/],
    [['memory', 'add', 'a\nb', 'text'], /a title is one line of at most 200 characters/],
    [['memory', 'rm'], /the title is missing/],
    [['trust', 'me'], /`me` is too much.*retinue run "trust me"/],
    [['trust', '--list', '--revoke'], /exclude each other/],
    [['trust', '--db', 'x'], /unknown flag `--db`/],
    [['shwo', 'last'], /unknown command `shwo`; did you mean `show`\?.*retinue run "shwo …"/],
    [['pss'], /unknown command `pss`; did you mean `ps`\?/],
    [['cancle'], /did you mean `cancel`\?/],
    [['top'], /`top` is not in this version/],
    [['help', 'log'], /unknown command `log`; did you mean `logs`\?/],
    [['run', 'task', '--max-turns', '0'], /--max-turns: `0` is no whole number from 1 to 500/],
    [['run', 'task', '--max-turns', '-1'], /--max-turns: `-1` is no whole number/],
    [['run', 'task', '--max-turns', '5m'], /--max-turns: `5m`/],
    [['run', 'task', '--max-turns=501'], /--max-turns: `501`/],
    [['run', 'task', '--max-turns', '1e2'], /--max-turns: `1e2`/],
    [['run', 'task', '--timeout', '0'], /--timeout: `0` is no duration.*`90s`/],
    [['run', 'task', '--timeout', '-5s'], /--timeout: `-5s`/],
    [['run', 'task', '--timeout', 'Infinity'], /--timeout: `Infinity`/],
    [['run', 'task', '--timeout', 'NaN'], /--timeout: `NaN`/],
    [['run', 'task', '--timeout', '2147483648ms'], /--timeout: `2147483648ms`/],
    [['run', 'task', '--timeout', '25d'], /--timeout: `25d`/],
    [['run', 'task', '--timeout', '5 minutes'], /--timeout/],
    [['run', 'task', '--budget-usd', '0'], /--budget-usd: `0` is no amount/],
    [['run', 'task', '--budget-usd', 'Infinity'], /--budget-usd/],
    [['run', 'task', '--budget-tokens', '2k'], /--budget-tokens: `2k`/],
    [['run', 'task', '--budget-tokens', '4294967296'], /--budget-tokens/],
    [['wait', 'last', '--timeout', '0'], /--timeout: `0`/],
  ];
  it.each(table)('%j', async (argv, said) => {
    const { code, stdout, stderr, io } = await run(argv);
    expect(stderr).toMatch(said);
    expect(stderr).toMatch(/^retinue: /);
    expect(stderr).not.toMatch(/\n {4}at /);
    expect([code, stdout]).toEqual([2, '']);
    expect(call(io, 'open')).toBeUndefined();
  });
});

describe('what is taken for a task, and what for a command', () => {
  const tasks: [argv: string[], task: string][] = [
    [['explain this'], 'explain this'],
    [['run', 'fix', 'the', 'tests'], 'fix the tests'],
    [['fix', 'the', 'tests'], 'fix the tests'],
    [['what', 'is', 'this?'], 'what is this?'],
    [['is', 'this', 'right'], 'is this right'],
    [['--json', 'explain this'], 'explain this'],
    [['run', 'show'], 'show'],
    [['--', 'ps'], 'ps'],
    [['run', '--', '--weird task'], '--weird task'],
    [['show me the code'], 'show me the code'],
  ];
  it.each(tasks)('%j is a task', async (argv, task) => {
    const { code, io } = await run(argv, { api: playing([]) });
    expect(call(io, 'start')).toEqual([expect.objectContaining({ task })]);
    expect(code).toBe(0);
  });

  it.each([[['-C', 'dir', 'ps']], [['ps', '-C', 'dir']], [['-Cdir', 'ps']]])('%j is a command in a directory', async (argv) => {
    const { code, io } = await run(argv);
    expect(call(io, 'ps')).toEqual([{ all: false }]);
    expect(call(io, 'settings')).toEqual([expect.objectContaining({ workspace: 'dir' })]);
    expect(code).toBe(0);
  });
});

describe('help', () => {
  const names = [
    ...['run', 'ps', 'show', 'logs', 'wait', 'cancel', 'message', 'agents', 'config', 'demo'],
    ...['memory', 'trust', 'doctor'],
  ];

  it('is grouped, and shows only what there is', async () => {
    const { code, stdout } = await run(['--help']);
    expect(code).toBe(0);
    expect(stdout.match(/^[A-Z][a-z]+$/gm)).toEqual(['Run', 'Watch', 'Steer', 'Prove', 'Serve']);
    for (const name of names) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
  });

  it.each(names)('of %s teaches', async (name) => {
    const { code, stdout, io } = await run([name, '--help', '--nonsense']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Flags[\s\S]*Examples[\s\S]*retinue[\s\S]*Exit codes/);
    expect(io.calls).toEqual([]);
    expect((await run(['help', name])).stdout).toBe(stdout);
  });

  it('comes to standard error where nothing was asked', async () => {
    const { code, stdout, stderr } = await run([]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: retinue');
  });

  it('has no colour unless it may', async () => {
    expect((await run(['--help'])).stdout).not.toContain('\x1b');
    expect((await run(['--help'], { io: { colour: { out: true, err: true } } })).stdout).toContain('\x1b[1m');
  });

  it.each([['--version'], ['-V'], ['version']])('%s', async (word) => {
    expect((await run([word])).stdout).toBe('9.9.9\n');
  });
});

describe('errors', () => {
  const table: [code: ConstructorParameters<typeof RetinueError>[0], exit: number][] = [
    ...(['usage', 'invalid_config', 'invalid_rule', 'invalid_limit', 'invalid_brief', 'unknown_agent'] as const).map(
      (c) => [c, 2] as [typeof c, number],
    ),
    ...(['unknown_tool', 'unknown_model', 'unknown_dialect', 'price_unknown'] as const).map((c) => [c, 2] as [typeof c, number]),
    ...(['unknown_run', 'ambiguous_id', 'fenced', 'store_io', 'queue_full'] as const).map((c) => [c, 1] as [typeof c, number]),
  ];
  it.each(table)('%s of a command is exit code %d, without a stack', async (errorCode, exit) => {
    const fails = async () => {
      throw new RetinueError(errorCode, 'so \x1b[2Jit is');
    };
    const { code, stdout, stderr, io } = await run(['run', 'task', '--json'], { api: { start: fails } });
    expect([code, stdout, stderr]).toEqual([exit, '', 'retinue: so it is\n']);
    expect(io.closed).toBe(1);
  });

  it.each(['store_io', 'store_busy', 'store_corrupt', 'store_newer'] as const)('%s at opening is exit code 2', async (errorCode) => {
    const open = async () => {
      throw new RetinueError(errorCode, '/w/.retinue/retinue.db: no');
    };
    const { code, stderr } = await run(['ps'], { io: { open } });
    expect([code, stderr]).toEqual([2, 'retinue: /w/.retinue/retinue.db: no\n']);
  });

  it('a fault of our own says how to report it', async () => {
    const { code, stderr } = await run(['ps'], { api: { ps: async () => Promise.reject(new TypeError('oops')) } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/TypeError: oops[\s\S]*fault of Retinue itself[\s\S]*9\.9\.9/);
  });
});
