// `retinue run`: from arguments to the recorded brief, and from events to what is printed.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Fact, FactOf } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { type Cli, createCli, ExitNow } from './support.ts';
import { startHeldModel } from './support-held-model.ts';

const price = { input: 1000, output: 1000 };
const hanging = [{ steps: [{ hang: 'start' }] }];

async function createdFact(cli: Cli): Promise<FactOf<'run.created'>['data']> {
  return ((await cli.facts()).find(({ type }) => type === 'run.created') as FactOf<'run.created'>).data;
}

describe('the brief', () => {
  const table: [argv: string[], brief: object][] = [
    [['task'], { task: 'task' }],
    [
      ['task', '--agent', 'explore', '--model', 'script/script.json', '--label', 'l', '--context', 'c'],
      { task: 'task', agent: 'explore', model: 'script/script.json', label: 'l', context: 'c' },
    ],
    [['task', '--file', 'a', '--file', 'b'], { task: 'task', files: ['a', 'b'] }],
    [['task', '--tools', 'read, grep'], { task: 'task', tools: { allow: ['read', 'grep'] } }],
    [['task', '--tools', ''], { task: 'task', tools: { allow: [] } }],
    [
      ['task', '--max-turns', '7', '--timeout', '90', '--budget-usd', '0.5', '--budget-tokens', '100000'],
      { task: 'task', limits: { maxTurns: 7, timeoutMs: 90_000, maxCostUsd: 0.5, maxTokens: 100_000 } },
    ],
    [['task', '--timeout', '500ms'], { task: 'task', limits: { timeoutMs: 500 } }],
    [['task', '--timeout', '1.5h'], { task: 'task', limits: { timeoutMs: 5_400_000 } }],
    [['review this', '-'], { task: 'review this\n\nthe diff' }],
    [['-'], { task: 'the diff' }],
  ];
  it.each(table)('%j', async (argv, brief) => {
    using cli = createCli({ model: { price: { input: 0.001, output: 0.001 } }, files: { a: 'A', b: 'B' } });
    const started = cli.start(['run', ...argv], { readStdin: async () => 'the diff\n' });
    expect((await started.result).code).toBe(0);
    expect((await createdFact(cli)).brief).toEqual(brief);
    expect(started.io.openApis).toBe(0);
  });

  it('has the schema of --output-schema, and the data is printed', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    using cli = createCli({
      runs: [{ steps: [{ calls: [{ tool: 'submit_result', args: { n: 1 } }] }] }],
      files: { 's.json': `\ufeff${JSON.stringify(schema)}` },
    });
    const { code, stdout } = await cli.run(['run', 'task', '--output-schema', 's.json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, { n: 1 }]);
    expect((await createdFact(cli)).brief.result).toEqual({ schema });
  });

  it.each([
    ['[1]', /is not a JSON Schema/],
    ['{', /s\.json is not JSON/],
  ])('refuses the schema %s before anything is created', async (text, message) => {
    using cli = createCli({ files: { 's.json': text } });
    const { code, stderr } = await cli.run(['run', 't', '--output-schema', 's.json']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(existsSync(join(cli.folder, '.retinue'))).toBe(false);
  });

  it('keeps rules in the order in which they were written', async () => {
    using cli = createCli();
    await cli.run(['run', 't', '--deny', 'bash', '--allow', 'bash:git *', '--deny', 'write']);
    const { rules = [] } = (await createdFact(cli)).grant.rulesets[0] ?? {};
    expect(rules.slice(-3)).toMatchObject([
      { action: 'deny', tool: 'bash', pattern: null },
      { action: 'allow', tool: 'bash', pattern: 'git *' },
      { action: 'deny', tool: 'write', pattern: null },
    ]);
  });
});

it('a model that the workspace names is used only after trust', async () => {
  using cli = createCli({
    env: { RETINUE_MODEL: '' },
    config: { model: 'script/script.json' },
    files: { '.retinue/agents/own.md': '---\nname: own\ndescription: d\nmodel: script/script.json\n---\nYou are own.\n' },
  });
  for (const argv of [
    ['run', 'task'],
    ['run', 'task', '--agent', 'own'],
  ]) {
    const { code, stderr } = await cli.run(argv);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/not trusted: `model` in .*retinue\.config\.json is ignored/)]);
    expect(stderr).toMatch(/not trusted: `model = script\/script\.json` in .*own\.md is ignored/);
    expect(stderr).toContain('no model is configured');
  }
  expect(await cli.facts()).toEqual([]);
  expect((await cli.run(['trust', '--yes'])).code).toBe(0);
  expect(await cli.run(['run', 'task'])).toMatchObject({ code: 0, stdout: 'done\n' });
  expect(await cli.run(['run', 'task', '--agent', 'own'])).toMatchObject({ code: 0, stdout: 'done\n' });
});

describe('what is printed', () => {
  const steps = [
    { calls: [{ tool: 'read', args: { path: 'a\x1b[2J.ts' } }] },
    { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore', label: 'part' }] } }] },
    { text: 'It is small.' },
  ];
  const runs = [
    { when: { agent: 'explore' }, steps: [{ text: 'seen' }] },
    { when: { agent: 'general' }, steps },
  ];

  it('without a terminal: a line per important event, then the summary', async () => {
    using cli = createCli({ runs, config: { prices: { 'x/y': price } } });
    const { code, stdout, stderr } = await cli.run(['run', 'task']);
    const expected = [
      /^retinue: not trusted: `prices/,
      /^retinue: .*script\.json/,
      /^retinue: limits: 40 turns · 30m00s · 2,000,000 tokens · unlimited cost$/,
      /^\w{8} started · script\/script\.json · until /,
      /^\w{8} tool read a\.ts$/,
      /^\w{8} tool read a\.ts · failed · /,
      /^\w{8} tool delegate part$/,
      /^\w{8} child \w{8} · explore · part$/,
      /^\w{8} started · script/,
      /^\w{8} ended · completed · 1 turn · \d+ tokens/,
      /^\w{8} ended · completed · 4 turns in 2 runs · [\d.k]+ tokens/,
      /^completed · 4 turns in 2 runs · .* · run \w{8} · details: retinue show \w{8}$/,
    ];
    const lines = stderr.trimEnd().split('\n');
    expect([code, stdout, lines.length]).toEqual([0, 'It is small.\n', expected.length]);
    expected.forEach((line, i) => void expect(lines[i]).toMatch(line));
  });

  it('--json: one outcome with its keys in order, everything else on standard error', async () => {
    using cli = createCli({ runs });
    const { stdout } = await cli.run(['run', 'task', '--json']);
    expect(stdout.trimEnd()).not.toContain('\n');
    expect(Object.keys(JSON.parse(stdout) as Outcome).join(' ')).toBe(
      'runId parentId rootId depth label agent status success verified summary artifacts error terminated truncated turns tokens costUsd startedAt endedAt durationMs',
    );
  });

  it('--stream-json: facts as lines, without deltas and positions', async () => {
    using cli = createCli();
    const { stdout, stderr } = await cli.run(['run', 'task', '--stream-json']);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Fact);
    expect(lines.map(({ type }) => type)).toEqual(['run.created', 'run.started', 'model.asked', 'model.answered', 'run.ended']);
    expect(Object.keys(lines[0] as Fact)).toEqual(['runId', 'seq', 'at', 'v', 'type', 'data', 'hash']);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it('has no control characters, whatever the model says', async () => {
    using cli = createCli({ runs: [{ steps: [{ text: '\x1b]52;c;x\x07ok\u202e' }] }] });
    const { stdout, stderr } = await cli.run(['run', 'task']);
    expect(stdout).toBe('ok⟦U+202E⟧\n');
    expect(stdout + stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
  });

  it.each<[string, number, object[], string[]]>([
    ['completed', 0, [{ text: 'done' }], []],
    ['failed', 1, [{ error: { status: 401, message: 'no' } }], []],
    ['exhausted', 3, [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'so far' }], ['--max-turns', '1']],
    ['timed_out', 4, [{ hang: 'start' }], ['--timeout', '50ms']],
  ])('%s is exit code %d', async (status, expected, scripted, flags) => {
    using cli = createCli({ runs: [{ times: 'any', steps: scripted }] });
    const { code, stdout } = await cli.run(['run', 'task', '--json', ...flags]);
    expect([code, JSON.parse(stdout).status]).toEqual([expected, status]);
  });
});

describe('on a terminal', () => {
  it('repaints lines on standard error and leaves the last ones on the screen', async () => {
    await using model = await startHeldModel({
      task: [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { held: true, text: 'It is small.' }],
    });
    using cli = createCli({ env: model.variables });
    const { io, code } = cli.start(['run', 'task'], { errTTY: true });
    await cli.untilFact('tool.finished');
    io.tick();
    expect(io.stderr).toContain('limits: 40 turns');
    expect(io.stderr).toMatch(/● general +\S/);
    model.release();
    expect(await code).toBe(0);
    expect(io.stdout).toBe('It is small.\n');
    expect(io.stderr).toMatch(/\x1b\[1A\r✓ general +completed +turn 2 · .* tokens.*\x1b\[K\x1b\[1B\rcompleted · 2 turns/);
  });

  it('--plain has no escape sequences', async () => {
    using cli = createCli();
    const { stderr } = await cli.run(['run', 'task', '--plain'], { errTTY: true });
    expect(stderr).not.toContain('\x1b');
    expect(stderr).toMatch(/\w{8} started · /);
  });
});

describe('Ctrl-C', () => {
  async function startHanging(cli: Cli) {
    const started = cli.start(['run', 'task']);
    await cli.untilFact('model.asked');
    return started;
  }

  it('once: cancels the tree, prints its outcome, exit code 130', async () => {
    using cli = createCli({ runs: hanging });
    const { io, code } = await startHanging(cli);
    io.stop();
    expect(io.stderr).toContain('cancelling; press Ctrl-C again to exit at once');
    expect(await code).toBe(130);
    expect(io.openApis).toBe(0);
    expect((await cli.facts()).find(({ type }) => type === 'cancel.asked')?.data).toMatchObject({ reason: 'interrupted' });
  });

  it('twice: exits at once', async () => {
    using cli = createCli({ runs: hanging });
    const { io, code } = await startHanging(cli);
    io.stop();
    expect(() => io.stop()).toThrow(new ExitNow(130));
    await code;
  });

  it('before the run is created: cancels it as soon as it is', async () => {
    using cli = createCli({ runs: [{ steps: [{ text: 'never' }] }] });
    const { io, code } = cli.start(['run', 'task'], {
      open: async (...given) => {
        const api = await cli.parts.open(...given);
        return {
          ...api,
          start: async (...brief) => {
            io.stop();
            return api.start(...brief);
          },
        };
      },
    });
    expect(await code).toBe(130);
    expect((await cli.facts()).map(({ type }) => type)).toContain('cancel.asked');
  });

  it('a closed output cancels without a message', async () => {
    using cli = createCli({ runs: hanging });
    const { io, code } = await startHanging(cli);
    io.stop('closed');
    expect(await code).toBe(130);
    expect(io.stderr).not.toContain('cancelling');
    expect((await cli.facts()).find(({ type }) => type === 'cancel.asked')?.data).toMatchObject({ reason: 'output closed' });
  });
});

it('demo runs on the given model, and says what the machine has and what to try next', async () => {
  using cli = createCli({ runs: [{ steps: [{ expect: { prompt: 'Survey this folder' }, text: 'surveyed' }] }] });
  const demo = {
    ...{ about: 'a demonstration', task: 'Survey this folder', workspace: cli.folder, model: 'script/script.json', db: null },
    program: 'npx retinue',
    inspectMachine: async () => ({
      here: ['ANTHROPIC_API_KEY is set: anthropic/x'],
      next: 'npx retinue run --model anthropic/x "explain"',
    }),
  };
  const { code, stdout, stderr } = await cli.run(['demo'], { demo: async () => demo });
  expect([code, stdout]).toEqual([0, 'surveyed\n']);
  expect(stderr).toMatch(/recorded in \S+\/\.retinue\/retinue\.db[\s\S]*npx retinue ps --all\n[\s\S]*npx retinue logs last/);
  expect(stderr).toMatch(/ANTHROPIC_API_KEY is set[\s\S]*npx retinue run --model anthropic\/x/);
});
