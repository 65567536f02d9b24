import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Command, groups } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/commands.ts';
import { DatabaseOpenError, reportError } from '../../src/cli/errors.ts';
import { program } from '../../src/cli/program.ts';
import { RetinueError } from '../../src/contract/error.ts';
import { defaultLimits } from '../../src/contract/limits.ts';
import { createCli, createTestIo } from './support.ts';

describe('wrong arguments are exit code 2 and say what is right', () => {
  const table: [argv: string[], said: RegExp][] = [
    [['ps', '--jsn'], /unknown flag `--jsn`; did you mean `--json`\?/],
    [['run', '--modle', 'x', 'task'], /unknown flag `--modle`; did you mean `--model`\?/],
    [['run', 'task', '--detatch'], /unknown flag `--detatch`; did you mean `--detach`\?/],
    [['run', 'task', '--detach', '--stream-json'], /cannot be combined/],
    [['run', 'task', '--dialct', 'dex'], /unknown flag `--dialct`/],
    [['run', '-x', 'task'], /unknown flag `-x`.*put `--` before/],
    [['run', '--json=yes', 'task'], /--json takes no value/],
    [['run', '--agent'], /--agent needs a value: --agent NAME/],
    [['run', 'task', '--agent', '--json'], /--agent needs a value/],
    [['run', 'task', '--json', '--stream-json'], /cannot be combined/],
    [['run'], /the task is missing/],
    [['run', '  '], /the task is missing/],
    [['show'], /an argument is missing; usage: retinue show ID/],
    [['show', 'me', 'the', 'code'], /unexpected argument `the code`.*retinue run "show me the code"/],
    [['message', 'last'], /the message is missing/],
    [['agents', 'explain'], /the agent is missing; usage: retinue agents explain NAME/],
    [['agents', 'explain', 'general', 'now'], /unexpected argument `now`/],
    [['agents', 'of', 'change'], /unexpected argument `of`.*retinue run "agents of change"/],
    [['memory'], /an argument is missing; usage: retinue memory add TITLE TEXT/],
    [['memory', 'leak', 'in', 'main'], /unexpected argument `leak`; usage: retinue memory add.*retinue run "memory leak …"/],
    [['memory', 'add', 'title'], /the text is missing/],
    [['memory', 'add', ' ', 'text'], /the title is missing/],
    [['memory', 'add', 'a\nb', 'text'], /a title is one line of at most 200 characters/],
    [['memory', 'rm'], /the title is missing/],
    [['trust', 'me'], /unexpected argument `me`.*retinue run "trust me"/],
    [['trust', '--list', '--revoke'], /cannot be combined/],
    [['trust', '--db', 'x'], /unknown flag `--db`/],
    [['shwo', 'last'], /unknown command `shwo`; did you mean `show`\?\nTo give it to an agent as a task: retinue run "shwo last"/],
    [['pss'], /unknown command `pss`; did you mean `ps`\?/],
    [['cancle'], /did you mean `cancel`\?/],
    [['statsu'], /unknown command `statsu`; did you mean `status`\?/],
    [['stauts'], /did you mean `status`\?/],
    [['kil'], /did you mean `kill`\?/],
    [['frobnicate'], /unknown command `frobnicate`; `retinue --help` lists the commands/],
    [['--verison'], /unknown flag `--verison`; did you mean `--version`\?/],
    [['fix'], /unknown command `fix`; .*\nTo give it to an agent as a task: retinue run "fix"/],
    [['fix', 'the', 'tests'], /unknown command `fix`; .*\nTo give it to an agent as a task: retinue run "fix the tests"/],
    [['what', 'is', 'this?'], /unknown command `what`.*\nTo give it to an agent as a task: retinue run "what is this\?"/],
    [['fix the', 'tests'], /unknown command `fix the`.*\n.*retinue run "fix the tests"/],
    [['ps '], /unknown command `ps `; did you mean `ps`\?/],
    [['--', 'ps'], /unknown command `ps`.*\n.*retinue run "ps"/],
    [['-'], /unknown command `-`.*\n.*retinue run -/],
    [['--json'], /the command is missing/],
    [['--model', 'a/b'], /the command is missing/],
    [['help', 'log'], /unknown command `log`; did you mean `logs`\?/],
    [['run', 'task', '--max-turns', '0'], /--max-turns: `0` is not a whole number from 1 to 500/],
    [['run', 'task', '--max-turns', '-1'], /--max-turns: `-1` is not a whole number/],
    [['run', 'task', '--max-turns', '5m'], /--max-turns: `5m`/],
    [['run', 'task', '--max-turns=501'], /--max-turns: `501`/],
    [['run', 'task', '--max-turns', '1e2'], /--max-turns: `1e2`/],
    [['run', 'task', '--timeout', '0'], /--timeout: `0` is not a duration.*`90s`/],
    [['run', 'task', '--timeout', '-5s'], /--timeout: `-5s`/],
    [['run', 'task', '--timeout', 'Infinity'], /--timeout: `Infinity`/],
    [['run', 'task', '--timeout', 'NaN'], /--timeout: `NaN`/],
    [['run', 'task', '--timeout', '2147483648ms'], /--timeout: `2147483648ms`/],
    [['run', 'task', '--timeout', '25d'], /--timeout: `25d`/],
    [['run', 'task', '--timeout', '5 minutes'], /--timeout/],
    [['run', 'task', '--budget-usd', '0'], /--budget-usd: `0` is not an amount/],
    [['run', 'task', '--budget-usd', 'Infinity'], /--budget-usd/],
    [['run', 'task', '--budget-tokens', '2k'], /--budget-tokens: `2k`/],
    [['run', 'task', '--budget-tokens', '4294967296'], /--budget-tokens/],
    [['run', 'task', '--label', ''], /--label needs a value, and this one is empty; write --label TEXT, or leave it out/],
    [['run', 'task', '--label= '], /--label needs a value/],
    [['run', 'task', '--label', '=x'], /--label: there is a space before `=x`; write --label=x/],
    [['run', 'task', '--label', 'a', '--label', 'b'], /--label is given twice; give it once/],
    [['-C', '.', 'ps', '-C', '.'], /--workspace is given twice/],
    ...(
      [
        ...['workspace', 'config', 'db', 'file', 'output-schema', 'add-dir', 'repository', 'agent', 'model', 'dialect', 'host', 'verify'],
        ...['review', 'budget', 'allow', 'idempotency-key', 'queue', 'server', 'token-file'],
      ] as const
    ).map((flag): [string[], RegExp] => [['run', 'task', `--${flag}=`], new RegExp(`--${flag} needs a value, and this one is empty`)]),
    [['export', 'last', '--output', ''], /--output needs a value/],
    [['serve', '--tls-key', ''], /--tls-key needs a value/],
    [['flow', 'run', 'x', '--input', ''], /--input needs a value/],
    [['flow', 'run', 'x', '--input', '@'], /--input: the file is missing after `@`; write --input @input.json/],
    [['flow', 'run', 'x', '--input', 'main'], /--input is not JSON: .*; text is JSON only in quotes, as in --input '"main"'/],
    [['flow', 'run', 'x', '--input', '@script.jsn'], /unknown file `script.jsn`; did you mean `script.json`\?/],
    [['flow', 'run', 'x', '--input', '@.'], /is a folder; name a file in it/],
    [['flow', 'run', 'x'], /unknown flow `x` \(available: none\); flows are files in .retinue\/flows/],
    [['eval', 'script.jsn'], /unknown file `script.jsn`; did you mean `script.json`\?/],
    [['eval', 'list', '--agnt', 'x'], /unknown flag `--agnt`; did you mean `--agent`\?/],
    [['flow', 'run', ''], /an argument is empty; usage: retinue flow run/],
    [
      ['flow', 'list', '--server', 'http://127.0.0.1:1'],
      /--server has no effect on `retinue flow list`, which takes only --json, --workspace/,
    ],
    [['flow', 'list', '--input', '1'], /--input has no effect on `retinue flow list`/],
    [['flow', 'list', '--detach'], /--detach has no effect on `retinue flow list`/],
    [['flow', 'run', 'x', '--detach', '--stream-json'], /--detach and --stream-json cannot be combined/],
    [
      ['flow', 'run', 'x', '--detach', '--stream-json', '--server', 'http://127.0.0.1:1'],
      /--detach and --stream-json cannot be combined; follow the flow/,
    ],
    [['eval', 'list', '--agent', 'x'], /--agent has no effect on `retinue eval list`/],
    [['eval', 'list', '--fail-under', '9'], /--fail-under has no effect on `retinue eval list`/],
    [
      ['eval', 'show', 'last', '--budget-usd', '1'],
      /--budget-usd has no effect on `retinue eval show`, which takes only --fail-under, --json/,
    ],
    [['flow', 'list', 'x'], /unexpected argument `x`; usage: retinue flow/],
    [['eval', ''], /an argument is empty; usage: retinue eval FILE/],
    [['eval', 'list', 'x'], /unexpected argument `x`; usage: retinue eval/],
    [['show', ''], /an argument is empty; usage: retinue show ID/],
    [['message', '', 'hi'], /an argument is empty; usage: retinue message ID/],
    [['costs', '--by', 'modle'], /--by: unknown group `modle`; did you mean `model`\?/],
    [['wait', 'last', '--timeout', '0'], /--timeout: `0`/],
  ];
  it.each(table)('%j', async (argv, message) => {
    using cli = createCli();
    const { code, stdout, stderr } = await cli.run(argv);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^retinue: /);
    expect(stderr).not.toMatch(/\n {4}at /);
    expect([code, stdout]).toEqual([2, '']);
    expect(existsSync(join(cli.folder, '.retinue'))).toBe(false);
  });

  it('flow list says that it lists this machine if a server is configured', async () => {
    using cli = createCli({ env: { RETINUE_SERVER: 'http://127.0.0.1:1' } });
    const { code, stderr } = await cli.run(['flow', 'list']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('RETINUE_SERVER is not used: these are the flows of this machine')]);
  });

  it('a short flag is reported as it was typed', async () => {
    using cli = createCli();
    expect((await cli.run(['run', '-xyz', 'task'])).stderr).toContain('unknown flag `-xyz`');
  });
});

describe('what is a task and what is a command', () => {
  const tasks: [argv: string[], task: string][] = [
    [['explain this'], 'explain this'],
    [['run', 'fix', 'the', 'tests'], 'fix the tests'],
    [['--json', 'explain this'], 'explain this'],
    [['--label', 'ps', 'explain this'], 'explain this'],
    [['run', 'show'], 'show'],
    [['run', '--', 'ps'], 'ps'],
    [['--', '--weird task'], '--weird task'],
    [['run', '--', '--weird task'], '--weird task'],
    [['show me the code'], 'show me the code'],
  ];
  it.each(tasks)('%j is a task', async (argv, task) => {
    using cli = createCli();
    expect((await cli.run(argv)).code).toBe(0);
    expect((await cli.facts())[0]?.data).toMatchObject({ brief: { task } });
  });

  it('one argument of several words can be joined by standard input', async () => {
    using cli = createCli();
    await cli.run(['review this', '-'], { readStdin: async () => 'the diff' });
    expect((await cli.facts())[0]?.data).toMatchObject({ brief: { task: 'review this\n\nthe diff' } });
  });

  it.each([[['-C', 'dir', 'config', '--json']], [['config', '-C', 'dir', '--json']], [['-Cdir', '--json', 'config']]])(
    '%j is a command in a directory',
    async (argv) => {
      using cli = createCli({ files: { 'dir/x': '' } });
      const { code, stdout } = await cli.run(argv);
      expect([code, JSON.parse(stdout).workspace]).toEqual([0, join(cli.folder, 'dir')]);
    },
  );
});

describe('other names of commands', () => {
  it('`status` and `list` list runs, of all or of one tree', async () => {
    using cli = createCli();
    await cli.run(['run', 'first']);
    await cli.run(['run', 'second']);
    const all = await cli.json<{ runId: string }[]>('ps', '--all');
    expect(all).toHaveLength(2);
    expect(await cli.json('list', '--all')).toEqual(all);
    expect(await cli.json('status', '--all')).toEqual(all);
    expect(await cli.json('status', 'last')).toEqual([all[0]]);
    expect(await cli.run(['status', 'nope'])).toMatchObject({ code: 1, stderr: expect.stringContaining('nope') });
  });

  it.each(['stop', 'kill'])('`%s` cancels', async (name) => {
    using cli = createCli({ runs: [{ steps: [{ hang: 'start' }] }] });
    const started = cli.start(['run', 'task']);
    await cli.untilFact('model.asked');
    expect(await cli.run([name, 'last'])).toMatchObject({ code: 0, stdout: expect.stringContaining('is being cancelled') });
    expect(await started.code).toBe(130);
  });

  it('have the help of the command', async () => {
    using cli = createCli();
    expect((await cli.run(['stop', '--help'])).stdout).toBe((await cli.run(['help', 'cancel'])).stdout);
    expect((await cli.run(['help', 'kill'])).stdout).toMatch(/Usage: retinue cancel[\s\S]*retinue stop[\s\S]*retinue kill/);
  });
});

describe('the list of commands', () => {
  it('has no name twice', () => {
    const names = commands.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('arguments are parsed before the command is known, so a flag takes a value in all commands or in none', () => {
    const flags = Map.groupBy(
      commands.flatMap((command) => command.flags),
      ({ name }) => name,
    );
    const different = [...flags].filter(([, same]) => new Set(same.map(({ value, short }) => `${value === undefined} ${short}`)).size > 1);
    expect(different.map(([name]) => name)).toEqual([]);
    const shorts = [...flags.values()].flatMap(([flag]) => flag?.short ?? []);
    expect(new Set(shorts).size).toBe(shorts.length);
  });
});

describe('help', () => {
  const help = async (...argv: string[]) => {
    const io = createTestIo();
    return { code: await program(argv, io), stdout: io.stdout, stderr: io.stderr };
  };

  it('lists every command in its group', async () => {
    const { code, stdout } = await help('--help');
    expect(code).toBe(0);
    expect(stdout.match(/^[A-Z][a-z]+( [a-z]+)?$/gm)).toHaveLength(groups.length);
    for (const { name, summary } of commands) expect(stdout).toContain(`\n  ${name.padEnd(10)}${summary}\n`);
  });

  it.each(commands.map((command) => [command.name, command] as [string, Command]))(
    'of %s has usage, flags, examples and exit codes',
    async (name, command) => {
      const { code, stdout } = await help(name, '--help', '--nonsense');
      expect(code).toBe(0);
      expect(stdout).toMatch(/^Usage: retinue [\s\S]*Flags[\s\S]*Examples[\s\S]*retinue[\s\S]*Exit codes/);
      for (const flag of command.flags) expect(stdout).toContain(`--${flag.name}`);
      expect((await help('help', name)).stdout).toBe(stdout);
    },
  );

  it('shows the defaults that apply', async () => {
    const shown = async (name: string, flag: string) => {
      const lines = (await help(name, '--help')).stdout.split('\n');
      const first = lines.findIndex((line) => line.includes(`--${flag} `));
      const next = lines.findIndex((line, i) => i > first && /^\s+(-\w, )?--|^$/.test(line));
      return lines.slice(first, next).join(' ').replace(/\s+/g, ' ');
    };
    const { maxTurns, maxCostUsd, maxTokens } = defaultLimits;
    expect(await shown('run', 'max-turns')).toContain(`(default: ${maxTurns})`);
    expect(await shown('run', 'timeout')).toContain('(default: 30m)');
    expect(await shown('run', 'budget-usd')).toContain(`(default: ${maxCostUsd})`);
    expect(await shown('run', 'budget-tokens')).toContain(`(default: ${maxTokens})`);
    expect(await shown('run', 'ask')).toContain('(default: 10m on a terminal');
    expect(await shown('subagent', 'timeout')).toContain('(default: 5m, or `dialects.ralph.subagent_timeout`');
  });

  it('has the exit codes of a follow-up for `message`, and of an interruption for commands that wait', async () => {
    expect((await help('message', '--help')).stdout).toMatch(/0 sent, or the new run completed[\s\S]*3 out of turns[\s\S]*130 cancelled/);
    for (const name of ['resume', 'logs'])
      expect((await help(name, '--help')).stdout).toContain('130 interrupted · 143 paused by SIGTERM or a closed terminal');
  });

  it('goes to standard error if there are no arguments', async () => {
    const { code, stdout, stderr } = await help();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: retinue');
  });

  it('has colours only if the terminal has them', async () => {
    expect((await help('--help')).stdout).not.toContain('\x1b');
    const io = createTestIo({ colour: { out: true, err: true } });
    await program(['--help'], io);
    expect(io.stdout).toContain('\x1b[1m');
  });

  it.each([['--version'], ['-V'], ['-v'], ['version']])('%s', async (word) => {
    expect((await help(word)).stdout).toBe('9.9.9\n');
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
  it.each(table)('%s is exit code %d, without a stack', (code, exit) => {
    const io = createTestIo();
    expect(reportError(new RetinueError(code, 'so \x1b[2Jit is'), io)).toBe(exit);
    expect([io.stdout, io.stderr]).toEqual(['', 'retinue: so it is\n']);
  });

  it.each(['store_io', 'store_busy', 'store_corrupt', 'store_newer'] as const)('%s while the database is opened is exit code 2', (code) => {
    const io = createTestIo();
    expect(reportError(new DatabaseOpenError(new RetinueError(code, 'no')), io)).toBe(2);
    expect(io.stderr).toBe('retinue: no\n');
  });

  it('a database that cannot be opened is exit code 2, and what was opened is closed after an error', async () => {
    using cli = createCli({ files: { '.retinue/retinue.db': 'no database' } });
    expect(await cli.run(['ps'])).toMatchObject({ code: 2, stderr: expect.stringMatching(/^retinue: .*retinue\.db/) });
    using other = createCli();
    const { io, code } = other.start(['run', 'task', '--agent', 'nobody']);
    expect([await code, io.openApis]).toEqual([2, 0]);
  });

  it('a bug in Retinue says how to report it', () => {
    const io = createTestIo();
    expect(reportError(new TypeError('oops'), io)).toBe(1);
    expect(io.stderr).toMatch(/TypeError: oops[\s\S]*a bug in Retinue \(version 9\.9\.9\)/);
  });
});
