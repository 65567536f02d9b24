// Commands that look at runs and control them, on real runs.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/api/api.ts';
import type { Fact } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { type Cli, createCli } from './support.ts';
import { startHeldModel } from './support-held-model.ts';

const runKeys = 'runId parentId rootId depth kind label agent status turns tokens costUsd startedAt endedAt worker';
const keys = (value: object) => Object.keys(value).join(' ');
const tree = [
  {
    when: { agent: 'general' },
    steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore', label: 'part' }] } }] }, { text: 'all done' }],
  },
  { when: { agent: 'explore' }, steps: [{ text: 'seen' }] },
];
const failing = { steps: [{ error: { status: 401, message: 'no key' } }] };
const hanging = { steps: [{ hang: 'start' }] };

async function runIds(cli: Cli): Promise<string[]> {
  return (await cli.json<RunView[]>('ps', '--all')).map(({ runId }) => runId);
}

/** A workspace with a run whose process has died: imported before it had ended. */
async function createOrphan(): Promise<Cli & { id: string }> {
  using other = createCli({ runs: [hanging] });
  const live = other.start(['run', 'x', '--label', 'a\x1b[2Jb']);
  await other.untilFact('model.asked');
  await other.run(['export', 'last', '--live', '-o', 'run.jsonl']);
  const [id] = await runIds(other);
  live.io.stop();
  await live.code;
  const cli = createCli({ files: { 'run.jsonl': readFileSync(join(other.folder, 'run.jsonl'), 'utf8') } });
  expect((await cli.run(['import', 'run.jsonl', '--unfinished'])).code).toBe(0);
  return { ...cli, id: id as string };
}

describe('an agent that passes tools on', () => {
  const boss = '---\nname: boss\ndescription: delegates\ntools: Task\nchildTools: Read\n---\nDelegate.\n';
  const worker = '---\nname: worker\ndescription: writes\ntools: Write\n---\nWrite.\n';
  const runs = [
    {
      when: { agent: 'boss' },
      steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'x', agent: 'worker' }] } }] }, { text: 'done' }],
    },
    { when: { agent: 'worker' }, steps: [{ text: 'no tools' }] },
  ];
  const files = { '.retinue/agents/boss.md': boss, '.retinue/agents/worker.md': worker };

  it('has a heading per scope in `agents explain` and `show`, and its delegation in the list', async () => {
    using cli = createCli({ runs, files });
    const explained = (await cli.run(['agents', 'explain', 'boss'])).stdout;
    expect(explained.match(/^Can only restrict them further: agent boss$/gm)).toHaveLength(1);
    expect(explained.match(/^Restrict only its children: agent boss$/gm)).toHaveLength(1);
    expect((await cli.run(['agents'])).stdout).toMatch(/^boss +\(delegates\) /m);
    await cli.run(['run', 'x', '--agent', 'boss']);
    const [, root] = await runIds(cli);
    expect((await cli.run(['show', root as string])).stdout).toMatch(/rules .*agent boss \(\d+\), agent boss, for its children \(\d+\)/);
  });

  it('a child without any of its tools is reported in the progress and in `show`', async () => {
    using cli = createCli({ runs, files });
    const { stderr } = await cli.run(['run', 'x', '--agent', 'boss']);
    expect(stderr).toMatch(/^retinue: \w{8}: agent worker has none of its tools here: .*`childTools`/m);
    const [child] = await runIds(cli);
    expect((await cli.run(['show', child as string])).stdout).toMatch(/Notices\n(.*\n)?agent worker has none of its tools here/);
  });
});

it('the database and its folder are readable only by their owner', async () => {
  using cli = createCli();
  await cli.run(['run', 'x']);
  const mode = (path: string) => statSync(join(cli.folder, path)).mode & 0o777;
  expect([mode('.retinue'), mode('.retinue/retinue.db')]).toEqual([0o700, 0o600]);
});

it('a token limit that is too small for the first call says so, and a denial is printed once, with how to be asked', async () => {
  const steps = [{ calls: [{ tool: 'write', args: { path: 'a', content: 'x' } }] }, { text: 'done' }];
  using cli = createCli({ runs: [{ times: 'any', steps }], config: { rules: ['ask write'] } });
  expect((await cli.run(['run', 'x', '--budget-tokens', '10'])).stderr).toContain('its first call alone would need more');
  const { stderr } = await cli.run(['run', 'x']);
  expect(stderr.match(/ tool write.*denied/g)).toHaveLength(1);
  expect(stderr).toMatch(/requires approval, and this run cannot ask for it; to be asked, add --ask TIME/);
});

describe('ps', () => {
  it('lists live runs, and with --all ended ones, as JSON with keys in order', async () => {
    using cli = createCli({ runs: tree });
    expect((await cli.run(['ps', '--json'])).stdout).toBe('[]\n');
    expect(await cli.run(['ps'])).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('no live runs') });
    await cli.run(['run', 'x']);
    expect(await cli.json('ps')).toEqual([]);
    const runs = await cli.json<RunView[]>('ps', '--all');
    expect(runs.map(({ agent, depth }) => [agent, depth])).toEqual([
      ['explore', 1],
      ['general', 0],
    ]);
    expect(runs.map(keys)).toEqual([runKeys, runKeys]);
  });

  it('prints an aligned table, without control characters', async () => {
    using cli = await createOrphan();
    const now = Date.parse((await cli.json<RunView[]>('ps'))[0]?.startedAt as string) + 65_000;
    const { stdout } = await cli.run(['ps'], { now: () => now });
    expect(stdout.split('\n')).toEqual([
      'RUN       STATUS       AGENT    COST    STARTED  DURATION  LABEL OR TASK',
      `${cli.id.slice(0, 8)}  interrupted  general    $0  1m05s ago     1m05s  ab`,
      '',
    ]);
  });

  it('shows the task of a run without a label, and marks an erased run', async () => {
    using cli = createCli({ runs: [{ times: 'any', steps: [{ text: 'done' }] }] });
    await cli.run(['run', 'look around']);
    expect((await cli.run(['ps', '--all'])).stdout).toMatch(/look around\n$/);
    await cli.run(['rm', 'last', '--yes']);
    expect((await cli.run(['ps', '--all'])).stdout).toMatch(/\(erased\)\n$/);
  });

  it('uses colours only if the terminal has them', async () => {
    using cli = await createOrphan();
    expect((await cli.run(['ps'], { colour: { out: true, err: false } })).stdout).toContain('\x1b[33minterrupted');
    expect((await cli.run(['ps'])).stdout).not.toContain('\x1b');
  });
});

describe('show', () => {
  it('--json has the artifacts and errors of `run --json`, with keys in the same order', async () => {
    const write = { tool: 'write', args: { path: 'a.txt', content: 'a\n' } };
    using cli = createCli({ runs: [{ steps: [{ calls: [write] }, { error: { message: 'no', status: 400 } }] }] });
    const printed = await cli.json<{ artifacts: object[]; error: object }>('run', 'x');
    expect(printed.artifacts.map(keys)).toEqual(['kind value title bytes', 'kind value title bytes']);
    expect(keys(printed.error)).toBe('code message retryable');
    const { outcome } = await cli.json<{ outcome: object }>('show', 'last');
    expect(JSON.stringify(outcome)).toBe(JSON.stringify(printed));
    expect(JSON.stringify(await cli.json('wait', 'last'))).toBe(JSON.stringify([printed]));
  });

  it('--json is the run with brief, grant, outcome and children', async () => {
    using cli = createCli({ runs: tree });
    await cli.run(['run', 'x', '--deny', 'write']);
    const shown = await cli.json<Record<string, unknown> & { children: object[] }>('show', (await runIds(cli))[1] as string);
    expect(keys(shown)).toBe(`${runKeys} brief grant servers outcome model deadline addedRules notices taint children`);
    expect(shown.children.map(keys)).toEqual([runKeys]);
    expect(shown).toMatchObject({
      brief: { task: 'x' },
      outcome: { summary: 'all done' },
      taint: ['child'],
      grant: { workspace: cli.folder },
    });
  });

  it('prints status, limits, task and summary for people', async () => {
    using cli = createCli({ runs: [failing] });
    await cli.run(['run', 'look around']);
    const { stdout } = await cli.run(['show', 'last']);
    expect(stdout).toMatch(/status +failed · .*no key\n/);
    expect(stdout).toMatch(/limits +40 turns · 30m00s · 2,000,000 tokens/);
    expect(stdout).toMatch(/Task\nlook around\n/);
  });

  it('names the model, the files and what the run has written', async () => {
    const steps = [{ calls: [{ tool: 'write', args: { path: 'new.txt', content: 'x' } }] }, { text: 'done' }];
    using cli = createCli({ runs: [{ steps }], files: { 'notes.txt': 'x' } });
    await cli.run(['run', 'look around', '--file', 'notes.txt']);
    const { stdout } = await cli.run(['show', 'last']);
    expect(stdout).toMatch(/model +script\/script\.json\n/);
    expect(stdout).toMatch(/Files\nnotes\.txt\n/);
    expect(stdout).toMatch(/Artifacts\ncreated new\.txt\n$/);
  });

  it('names the rule that a message added', async () => {
    using cli = createCli({ runs: [hanging] });
    const running = cli.start(['run', 'x']);
    await cli.untilFact('model.asked');
    await cli.run(['message', 'last', '--deny', 'write', 'do not write']);
    const { stdout } = await cli.run(['show', 'last']);
    running.io.stop();
    await running.result;
    expect(stdout).toMatch(/rules .*messages \(deny write\)/);
    expect(stdout).toMatch(/messages \(narrowing\):\n {2}deny write\n/);
  });

  it('says when the time limit of a run ends that is not running', async () => {
    using cli = await createOrphan();
    expect((await cli.run(['show', 'last'])).stdout).toMatch(/status +interrupted · its time limit end(s|ed) at .*\d\d:\d\d UTC\n/);
  });

  it('prints the rules of an unfinished run in full', async () => {
    using cli = await createOrphan();
    expect((await cli.run(['show', 'last'])).stdout).toMatch(/\nRules\nbuilt-in \(owner\):\n {2}(allow|deny|ask) /);
  });

  it('an unknown id is exit code 1', async () => {
    using cli = createCli();
    await cli.run(['run', 'x']);
    expect(await cli.run(['show', 'nothing'])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('nothing') });
  });
});

describe('logs', () => {
  it('--json is an array of facts without the cursor, with --tree those of the descendants too', async () => {
    using cli = createCli({ runs: tree });
    await cli.run(['run', 'x']);
    const root = (await runIds(cli))[1] as string;
    const own = await cli.json<Fact[]>('logs', root);
    expect(new Set(own.map(keys))).toEqual(new Set(['runId seq at v type data hash']));
    expect(new Set(own.map(({ runId }) => runId)).size).toBe(1);
    expect(new Set((await cli.json<Fact[]>('logs', root, '--tree')).map(({ runId }) => runId)).size).toBe(2);
  });

  it('prints a line per fact for people', async () => {
    using cli = createCli();
    await cli.run(['run', 'look\naround']);
    const lines = (await cli.run(['logs', 'last'])).stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} \w{8} run\.created {7}general · look around$/);
    expect(lines[4]).toMatch(/run\.ended {9}completed · 1 turn · \d+ tokens/);
  });

  it('-f --json prints JSON Lines until the run has ended', async () => {
    using cli = createCli({ runs: [{ steps: [{ delayMs: 200, text: 'done' }] }] });
    const running = cli.start(['run', 'x']);
    await cli.untilFact('model.asked');
    const { code, stdout } = await cli.run(['logs', 'last', '-f', '--json']);
    const types = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).type);
    expect([code, types]).toEqual([0, ['run.created', 'run.started', 'model.asked', 'model.answered', 'run.ended']]);
    await running.code;
  });

  it.each([
    ['interrupt', 130],
    ['closed', 0],
  ] as const)('-f stops at %s with exit code %d', async (why, expected) => {
    using cli = createCli({ runs: [hanging] });
    const running = cli.start(['run', 'x']);
    await cli.untilFact('model.asked');
    const following = cli.start(['logs', 'last', '-f']);
    await expect.poll(() => following.io.stdout).toContain('model.asked');
    following.io.stop(why);
    expect([await following.code, following.io.openApis]).toEqual([expected, 0]);
    running.io.stop();
    await running.code;
  });

  it('-f prints what a run without a process has recorded, and ends', async () => {
    using cli = await createOrphan();
    const { code, stdout, stderr } = await cli.run(['logs', 'last', '-f']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(3);
    expect([code, stderr]).toEqual([0, expect.stringContaining('will not end: its process has died')]);
  });
});

describe('wait', () => {
  const outcomes = [
    { when: { label: 'ok' }, times: 'any', steps: [{ text: 'It is small.' }] },
    { when: { label: 'failed' }, times: 'any', ...failing },
    { when: { label: 'exhausted' }, times: 'any', steps: Array(5).fill({ calls: [{ tool: 'list', args: { path: '.' } }] }) },
    { when: { label: 'hanging' }, times: 'any', ...hanging },
  ];

  /** Ended runs by label. */
  async function createEnded(...labels: string[]): Promise<{ cli: Cli; ids: string[] }> {
    const cli = createCli({ runs: outcomes });
    for (const label of labels)
      await cli.run([
        'run',
        'x',
        '--label',
        label,
        ...(label === 'exhausted' ? ['--max-turns', '1'] : []),
        ...(label === 'hanging' ? ['--timeout', '50ms'] : []),
      ]);
    return { cli, ids: (await runIds(cli)).toReversed() };
  }

  it.each<[string[], number]>([
    [['ok'], 0],
    [['exhausted'], 3],
    [['ok', 'hanging'], 4],
    [['failed', 'ok'], 1],
    [['hanging', 'failed'], 4],
  ])('the exit code for %j is %d: that of the first run that did not complete', async (labels, expected) => {
    const { cli, ids } = await createEnded(...labels);
    using _ = cli;
    const { code, stdout } = await cli.run(['wait', ...ids, '--json']);
    const printed = JSON.parse(stdout) as Outcome[];
    expect([code, printed.map(({ runId }) => runId)]).toEqual([expected, ids]);
  });

  it.each([
    ['ok', 0],
    ['failed', 1],
  ])('--any returns with the first that has ended: %s', async (label, expected) => {
    const { cli, ids } = await createEnded(label);
    using _ = cli;
    const running = cli.start(['run', 'x', '--label', 'hanging']);
    await expect.poll(async () => (await cli.json<RunView[]>('ps')).length).toBe(1);
    const live = (await runIds(cli))[0] as string;
    const { code, stdout } = await cli.run(['wait', live, ids[0] as string, '--any', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([expected, [null, expect.objectContaining({ runId: ids[0] })]]);
    running.io.stop();
    await running.code;
  });

  it('prints one result as `run` does, and several below a line each', async () => {
    const { cli, ids } = await createEnded('ok', 'failed');
    using _ = cli;
    expect((await cli.run(['wait', ids[0] as string])).stdout).toBe('It is small.\n');
    expect((await cli.run(['wait', ...ids])).stdout).toMatch(/^\w{8} completed · .*\nIt is small\.\n\n\w{8} failed · .*\n$/);
  });

  it('shows what the run does from now on, then its result', async () => {
    await using model = await startHeldModel({
      x: [
        { calls: [{ tool: 'list', args: { path: '.' } }] },
        { held: true, calls: [{ tool: 'glob', args: { pattern: '*.md' } }] },
        { text: 'Done.' },
      ],
    });
    using cli = createCli({ env: model.variables });
    const running = cli.start(['run', 'x']);
    await cli.untilFact('tool.finished');
    const waiting = cli.start(['wait', 'last']);
    await expect.poll(() => waiting.io.openApis).toBe(1);
    // A whole command that begins later: when it is done, the other one watches.
    await cli.run(['show', 'last']);
    model.release();
    const { code, stdout, stderr } = await waiting.result;
    expect([code, stdout]).toEqual([0, 'Done.\n']);
    expect(stderr).toMatch(/^\w{8} tool glob \*\.md\n\w{8} ended · completed .*\n\w{8} completed · 3 turns .*\n$/);
    await running.code;
  });

  it('on a terminal shows the whole tree, also what was there before', async () => {
    const tasks = [{ task: 'look', agent: 'explore', label: 'looker' }];
    await using model = await startHeldModel({
      'begin now': [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'Done.' }],
      look: [{ held: true, text: 'Seen.' }],
    });
    using cli = createCli({ env: model.variables });
    const running = cli.start(['run', 'begin now']);
    await cli.untilFact('child.created');
    const waiting = cli.start(['wait', 'last'], { errTTY: true });
    const ticking = setInterval(() => waiting.io.tick(), 10);
    await expect.poll(() => waiting.io.stderr).toContain('● looker');
    model.release();
    expect(await waiting.code).toBe(0);
    clearInterval(ticking);
    expect(waiting.io.stderr).toContain('✓ looker  completed');
    expect(waiting.io.stderr).toContain('✓ general');
    await running.code;
  });

  it('stops at --timeout with 4, and the run continues', async () => {
    using cli = createCli({ runs: [hanging] });
    const running = cli.start(['run', 'x']);
    await cli.untilFact('model.asked');
    const waiting = cli.start(['wait', 'last', '--timeout', '10s', '--json']);
    await expect.poll(() => waiting.io.openApis).toBe(1);
    const ticking = setInterval(() => waiting.io.tick(), 10);
    expect(await waiting.code).toBe(4);
    clearInterval(ticking);
    expect([waiting.io.stdout, waiting.io.stderr]).toEqual(['[null]\n', expect.stringMatching(/not ended after 10s: \w{8}\n/)]);
    expect((await cli.json<RunView[]>('ps'))[0]?.status).toBe('running');
    running.io.stop();
    await running.code;
  });

  it('does not wait for a run whose process has died', async () => {
    using cli = await createOrphan();
    const { code, stderr } = await cli.run(['wait', 'last']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${cli.id.slice(0, 8)} will not end: its process has died`)]);
  });
});

describe('cancel', () => {
  it('cancels a live run with the reason, and says if a run had already ended', async () => {
    using cli = createCli({ runs: [hanging] });
    const running = cli.start(['run', 'x']);
    await cli.untilFact('model.asked');
    const [id = ''] = await runIds(cli);
    expect((await cli.run(['cancel', 'last', '--reason', 'enough'])).stdout).toBe(`${id.slice(0, 8)} is being cancelled\n`);
    expect(await running.code).toBe(130);
    expect((await cli.facts()).find(({ type }) => type === 'cancel.asked')?.data).toMatchObject({ reason: 'enough' });
    expect((await cli.run(['cancel', 'last'])).stdout).toBe(`${id.slice(0, 8)} had already ended\n`);
  });

  it('ends a run that has no process', async () => {
    using cli = await createOrphan();
    expect(await cli.run(['cancel', 'last'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('is cancelled; it had no process'),
    });
    expect(await cli.json('ps')).toEqual([]);
  });
});

describe('message', () => {
  it('reaches a live run before its next turn', async () => {
    await using model = await startHeldModel({
      x: [
        { held: true, calls: [{ tool: 'list', args: { path: '.' } }] },
        { expect: 'look there', text: 'looked' },
      ],
    });
    using cli = createCli({ env: model.variables });
    const running = cli.start(['run', 'x']);
    await cli.untilFact('model.asked');
    const { code, stdout } = await cli.run(['message', 'last', 'look', 'there']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\w{8} will read it before its next turn\n$/)]);
    await cli.untilFact('message.received');
    model.release();
    expect((await running.result).stdout).toBe('looked\n');
  });

  it('an ended run answers in a new one, whose outcome decides the exit code', async () => {
    using cli = createCli({
      runs: [
        { when: { task: 'why' }, times: 'any', ...failing },
        { times: 'any', steps: [{ text: 'It is small.' }] },
      ],
    });
    await cli.run(['run', 'x']);
    expect((await cli.run(['message', 'last', 'why?'])).code).toBe(1);
    expect(await runIds(cli)).toHaveLength(2);
  });
});

describe('config', () => {
  const config = { limits: { maxTurns: 12 }, rules: ['deny bash'], prices: { 'x/y': { input: 1, output: 1 } } };

  it('prints values with their source, rules and what is ignored, and creates no database', async () => {
    using cli = createCli({ config });
    const { code, stdout } = await cli.run(['config']);
    expect(stdout).toMatch(/limits\.maxTurns +12 +\S*retinue\.config\.json/);
    expect(stdout).toMatch(/can only restrict[\s\S]*deny bash[\s\S]*Ignored\n {2}.*prices/);
    expect(code).toBe(0);
    expect((await cli.run(['ps', '--json'])).stdout).toBe('[]\n');
  });

  it('--json', async () => {
    using cli = createCli({ config });
    expect(await cli.json('config')).toMatchObject({
      workspace: cli.folder,
      values: { 'limits.maxTurns': { value: 12, from: expect.stringContaining('retinue.config.json') } },
      rules: [{ kind: 'narrowing', rules: ['deny bash'] }],
    });
  });
});
