// `retinue eval` with real processes: the example, what changes between two evals, kill -9 and Ctrl-C, and judging recorded work again.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { StoredFact } from '../../src/contract/fact.ts';
import { change, evaluate } from './support-eval.ts';
import { createPlace, type Place } from './support-process.ts';

const examples = resolve(import.meta.dirname, '../../examples/evals');

const write = (name: string) => ({ calls: [{ tool: 'write', args: { path: name, content: 'x\n' } }] });

interface Definition {
  cases: Record<string, unknown>[];
  limits?: Record<string, unknown>;
}

/** Cases `a` and `b` that each write a file; `b` takes its time. */
function addCases(place: Place, edit: (definition: Definition) => void = () => {}): void {
  const toCase = (name: string) => ({
    name,
    task: `write ${name}`,
    fixture: 'start',
    checks: [{ command: `test -f ${name}`, idempotent: true }],
  });
  const definition: Definition = { cases: [toCase('a'), toCase('b')] };
  edit(definition);
  mkdirSync(join(place.folder, 'start'), { recursive: true });
  writeFileSync(join(place.folder, 'start', 'begin.txt'), 'begin\n');
  writeFileSync(join(place.folder, 'two.json'), JSON.stringify(definition, null, 2));
}

const twoCases = (lastStep: object) => ({
  runs: [
    { when: { task: 'write a' }, times: 'any', steps: [write('a'), { text: 'a is written' }] },
    { when: { task: 'write b' }, times: 'any', steps: [write('b'), lastStep] },
  ],
});

const answer = { text: 'b is written' };

/** Keys in another order than facts have them. */
function addUnsortedKeys(definition: Definition): void {
  definition.limits = { timeoutMs: 60_000, maxTurns: 10 };
  Object.assign(definition.cases[1] as object, {
    result: { schema: { type: 'object', required: ['size', 'name'], properties: { size: { type: 'number' }, name: { type: 'string' } } } },
    expect: { data: { size: 2, name: 'b' } },
  });
}

const submitB = { calls: [{ tool: 'submit_result', args: { name: 'b', size: 2 } }] };

const countChildren = (facts: StoredFact[]) => facts.filter((fact) => fact.type === 'child.ended').length;

describe('retinue eval', () => {
  it('runs the example against two models, and says what is better and worse the next time', async () => {
    using place = createPlace({ runs: [] });
    cpSync(examples, join(place.folder, 'examples/evals'), { recursive: true });
    const first = await evaluate(place, 'examples/evals/small.json', '--fail-under', '50');
    expect(first).toMatchObject({ code: 1, comparedWith: null, replayOf: null });
    expect(first.variants.map(({ rate }) => [rate.passed, rate.judged])).toEqual([
      [3, 3],
      [0, 3],
    ]);
    expect(first.variants.every(({ rate }) => (rate.costUsd ?? 0) > 0)).toBe(true);
    const reasons = first.cases.flatMap((each) => each.reasons.map(({ reason }) => reason));
    expect(reasons).toEqual([
      expect.stringContaining('node test.mjs'),
      expect.stringContaining('does not include "6"'),
      expect.stringContaining('It says nothing about what sum.mjs does.'),
    ]);

    change(join(place.folder, 'examples/evals/hasty.json'), (text) => text.replace('11, the sum of both', '6, without the first'));
    change(join(place.folder, 'examples/evals/careful.json'), (text) =>
      text.replace('6: the loop', '11: the loop').replace('"input": 3', '"input": 300'),
    );
    const second = await place.run('eval', 'examples/evals/small.json', '--fail-under', '30', '--allow', 'bash');
    expect(second.code).toBe(0);
    // Steps of the eval have no source line: its program is a part of Retinue.
    expect(second.err).toContain('delegate');
    expect(second.err).not.toMatch(/\.[jt]s:\d/);
    expect(second.out).toMatch(/explain a function .*careful\.json +0\/1 0 % .* worse, was 1\/1 100 %, cost was \$0\.\d+/);
    expect(second.out).toMatch(/explain a function .*hasty\.json +1\/1 100 % .* better, was 0\/1 0 %/);
    expect(second.out).toMatch(/total .*careful\.json +2\/3 66\.6 % .* -33\.3 points, cost was \$0\.\d+/);
    expect(second.out).toMatch(new RegExp(`compared with eval ${first.runId.slice(0, 8)}: 1 case better, 1 worse`));
    // Every case worked on a copy.
    expect(readFileSync(join(place.folder, 'examples/evals/fixtures/sum/sum.mjs'), 'utf8')).toContain('let i = 1');

    const list = JSON.parse((await place.run('eval', 'list', '--json')).out);
    expect(list).toMatchObject([{ name: 'small', status: 'completed', total: { passed: 3, judged: 6 } }, { runId: first.runId }]);
    const shown = JSON.parse((await place.run('eval', 'show', first.runId.slice(0, 8), '--json')).out);
    expect(shown).toMatchObject({ runId: first.runId, comparedWith: null, total: { passed: 3, judged: 6 } });
    expect((await place.run('verify')).code).toBe(0);
  }, 180_000);

  it('finds fixtures and scripts beside the file, wherever it is', async () => {
    using place = createPlace({ runs: [] });
    const { variants } = await evaluate(place, join(examples, 'small.json'));
    expect(variants.map(({ model, rate }) => [model, rate.passed, rate.judged])).toEqual([
      [`script/${join(examples, 'careful.json')}`, 3, 3],
      [`script/${join(examples, 'hasty.json')}`, 0, 3],
    ]);
  }, 120_000);

  it.each(['SIGKILL', 'SIGINT'] as const)(
    'continues after %s without repeating finished cases',
    async (signal) => {
      using place = createPlace(twoCases({ hang: 'start' }));
      addCases(place, addUnsortedKeys);
      const started = place.start('eval', 'two.json', '--allow', 'bash');
      const before = await place.facts(
        (all) => countChildren(all) === 1 && all.some((fact) => fact.type === 'tool.finished' && fact.runId !== all[0]?.runId),
      );
      started.process.kill(signal);
      const { code, err } = await started.finished;
      writeFileSync(join(place.folder, 'script.json'), JSON.stringify(twoCases(submitB)));
      if (signal === 'SIGINT') expect([code, err]).toEqual([130, expect.stringContaining('the same command continues the eval')]);
      const { runId } = before[0] as StoredFact;
      const finished = before.find((fact) => fact.type === 'child.ended');
      const report = await evaluate(place, 'two.json');
      expect(report).toMatchObject({ code: 0, runId, variants: [{ rate: { passed: 2, judged: 2 } }] });
      const after = await place.facts((all) => all.length > 0);
      expect(after.filter((fact) => fact.type === 'child.created')).toHaveLength(2);
      expect(after).toContainEqual(finished);
      const again = await evaluate(place, 'two.json');
      expect(again.runId).not.toBe(runId);
      expect(again.cases.map((each) => [each.change, each.isEdited])).toEqual([
        ['same', false],
        ['same', false],
      ]);
    },
    180_000,
  );

  it('refuses to continue an eval with rules, limits, budgets or a concurrency that it did not begin with', async () => {
    using place = createPlace(twoCases({ hang: 'start' }));
    addCases(place);
    const rules = ['--allow', 'bash', '--deny', 'write:./closed/**'];
    const started = place.start('eval', 'two.json', ...rules, '--budget-tokens', '100000', '--concurrency', '2');
    const before = await place.facts((all) => countChildren(all) === 1);
    started.process.kill('SIGINT');
    expect((await started.finished).code).toBe(130);
    writeFileSync(join(place.folder, 'script.json'), JSON.stringify(twoCases(answer)));

    const refused: [flags: string[], named: string][] = [
      [['--deny', 'bash'], '--deny is'],
      [[...rules, '--deny', 'bash'], '--allow, --deny are'],
      [['--budget-usd', '0.000001'], '--budget-usd is'],
      [[...rules, '--budget-tokens', '5'], '--budget-tokens is'],
      [['--budget', 'shared'], '--budget is'],
      [['--concurrency', '1'], '--concurrency is'],
    ];
    for (const [flags, named] of refused) {
      const { code, err } = await place.run('eval', 'two.json', ...flags);
      expect([code, err], flags.join(' ')).toEqual([2, expect.stringContaining(`${named} not as when the eval`)]);
      expect(err).toContain('or begin again with --new');
    }
    expect((await place.facts(() => true)).filter((fact) => fact.type === 'run.resumed')).toEqual([]);

    const { code, out } = await place.run('eval', 'two.json', ...rules, '--budget-tokens', '100000', '--concurrency', '2', '--json');
    expect([code, JSON.parse(out).runId]).toEqual([0, before[0]?.runId]);
  }, 60_000);

  it('judges recorded work again with other checks, and skips what it cannot judge', async () => {
    using place = createPlace(twoCases(answer));
    addCases(place);
    await evaluate(place, 'two.json');
    const before = (await place.facts((all) => all.length > 0)).length;
    addCases(place, ({ cases }) => {
      Object.assign(cases[0] as object, {
        checks: [{ command: 'test -f a && test -f begin.txt' }, { command: 'git diff --quiet HEAD -- begin.txt' }],
      });
      Object.assign(cases[1] as object, { checks: [{ command: 'test -f c' }], expect: { includes: ['written'] } });
    });
    const judged = await evaluate(place, 'two.json', '--replay');
    expect(judged).toMatchObject({ code: 0, replayOf: judged.comparedWith });
    expect(judged.cases.map((each) => [each.case, each.rate.passed, each.change, each.isEdited])).toEqual([
      ['a', 1, 'same', true],
      ['b', 0, 'worse', true],
    ]);
    const added = (await place.facts((all) => all.length > before)).slice(before);
    const models = new Set(added.flatMap((fact) => (fact.type === 'model.asked' ? [fact.data.model.split('/')[0]] : [])));
    expect([...models]).toEqual(['recorded']);

    // What failed can pass again, what was edited or depends on its checks cannot be judged, and neither can other files.
    addCases(place, ({ cases }) => Object.assign(cases[0] as object, { task: 'write a, please' }));
    const edited = await evaluate(place, 'two.json', '--replay');
    expect(edited.results.map(({ verdict, reason }) => [verdict, reason])).toEqual([
      ['skipped', 'its task, limits or fixture have changed since'],
      ['passed', null],
    ]);
    addCases(place);
    writeFileSync(join(place.folder, 'start', 'begin.txt'), 'other\n');
    const refused = await place.run('eval', 'two.json', '--replay', '--allow', 'bash');
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('no recorded run can be judged again')]);
    expect((await place.run('replay', judged.runId)).code).toBe(0);
  }, 180_000);

  it('lets a file lower limits and not raise them, and takes fixtures beside a file outside the workspace', async () => {
    using place = createPlace(twoCases(answer));
    const outside = mkdtempSync(join(tmpdir(), 'retinue-evals-'));
    onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
    addCases({ ...place, folder: outside }, (definition) => {
      definition.limits = { maxTurns: 400, maxRuns: 5_000 };
      Object.assign(definition.cases[0] as object, { limits: { maxTurns: 3, maxTokens: 90_000_000 } });
    });
    const report = await evaluate(place, join(outside, 'two.json'));
    expect(report.results.map(({ verdict }) => verdict)).toEqual(['passed', 'passed']);
    for (const notice of [
      '`limits.maxTurns` in .* is ignored: 400 is more than 40',
      '`limits.maxRuns` .*: 5000 is more than 64',
      '`limits.maxTokens` ',
    ])
      expect(report.err).toMatch(new RegExp(notice));
    const limits = (await place.facts((all) => all.length > 0)).flatMap((fact) =>
      fact.type === 'run.created' && fact.data.brief.task.startsWith('write') ? [fact.data.brief.limits] : [],
    );
    expect(limits).toEqual([{ maxTurns: 3 }, {}]);
  }, 60_000);

  it('counts a case whose review has no verdict as an error, not as a failure', async () => {
    using place = createPlace({ runs: [{ when: { agent: 'general' }, steps: [{ text: 'done' }] }] });
    const cases = [{ name: 'a', task: 'x', checks: [{ agent: 'review', task: 'it is done' }] }];
    writeFileSync(join(place.folder, 'reviewed.json'), JSON.stringify({ cases }));
    const { results, code } = await evaluate(place, 'reviewed.json');
    expect([code, results]).toMatchObject([1, [{ verdict: 'error', reason: expect.stringContaining('has no result: review by review') }]]);
  }, 60_000);

  it('refuses unknown models and agents before it records anything, and compares with no eval without a verdict', async () => {
    using place = createPlace(twoCases(answer));
    addCases(place);
    const first = await evaluate(place, 'two.json');
    writeFileSync(join(place.folder, 'silent.json'), JSON.stringify({ runs: [{ when: { task: 'other' }, steps: [] }] }));
    for (const [args, message] of [
      [['--model', 'script/typo.json'], 'typo.json cannot be read: it does not exist'],
      [['--model', 'openai/gpt-5'], 'openai/… needs a key'],
      [['--agent', 'nosuch'], 'unknown agent `nosuch`'],
      [['--model', 'nosuch/x'], 'offline/…, script/…)'],
    ] as const)
      expect(await place.run('eval', 'two.json', ...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
    const unknown = await place.run('run', 'x', '--model', 'nosuch/x');
    expect(unknown).toMatchObject({ code: 2, err: expect.stringMatching(/available: .*script\/…/) });
    expect(unknown.err).not.toContain('recorded');
    addCases(place, ({ cases }) => Object.assign(cases[1] as object, { checks: [{ agent: 'nosuch', task: 'x' }] }));
    for (const args of [[], ['--replay']])
      expect(await place.run('eval', 'two.json', ...args)).toMatchObject({ code: 2, err: expect.stringContaining('agent `nosuch`') });
    expect(JSON.parse((await place.run('eval', 'list', '--json')).out)).toHaveLength(1);
    addCases(place);
    const silent = await evaluate(place, 'two.json', '--model', 'script/silent.json');
    expect(silent).toMatchObject({ code: 1, results: [{ verdict: 'error' }, { verdict: 'error' }] });
    expect(await evaluate(place, 'two.json', '--replay')).toMatchObject({ code: 0, replayOf: first.runId });
    const second = await evaluate(place, 'two.json');
    expect(second.cases.map((each) => each.change)).toEqual(['same', 'same']);
  }, 120_000);

  it('says what is wrong with a file, and what has no result', async () => {
    using place = createPlace({ runs: [] });
    const write = (text: string) => writeFileSync(join(place.folder, 'wrong.json'), text);
    const err = async (...args: string[]) => (await place.run('eval', 'wrong.json', ...args)).err;
    write('{\n  "cases": [{ "name": "a", "task": "x", "chekcs": [] }]\n}');
    expect(await err()).toMatch(/wrong\.json:2:\d+: .*`chekcs`.*did you mean `checks`/);
    const expectations = '"expect": { "include": ["y"] }';
    write(`{ "cases": [{ "name": "a", "task": "x", ${expectations} }], "limits": { "timeout": 1 } }`);
    expect(await err()).toMatch(/`include`; did you mean `includes`\? \(available: includes, excludes, data\)/);
    expect(await err()).toMatch(/`timeout`; did you mean `timeoutMs`\?/);
    write(
      '{ "cases": [{ "name": "a", "task": "x", "checks": [{ "command": "ls", "timeout": 1 }, { "agent": "review", "task": "x", "modle": "y" }] }] }',
    );
    expect(await err()).toMatch(/`timeout`; did you mean `timeoutMs`\? \(available: command, timeoutMs, idempotent\)/);
    expect(await err()).toMatch(/`modle`; did you mean `model`\? \(available: agent, task, model, limits\)/);
    write('{ "cases": [{ "name": "a", "task": "x" }] }');
    expect(await err()).toMatch(/neither `checks` nor `expect`/);
    write('{ "cases": [{ "name": "a", "task": "x", "fixture": "gone", "expect": { "includes": ["y"] } }] }');
    expect(await err()).toMatch(/the fixture .*gone is not a folder/);
    for (const fixture of ['..', '/', 'out']) {
      if (fixture === 'out') symlinkSync('..', join(place.folder, fixture));
      write(JSON.stringify({ cases: [{ name: 'a', task: 'x', fixture, expect: { includes: ['y'] } }] }));
      expect(await err()).toMatch(/the fixture .* leads to .*, outside /);
    }
    write('{"cases":[]}');
    expect(await err()).toMatch(/wrong\.json:1:10: `cases` must not be empty/);
    write('[]');
    expect(await place.run('eval', 'wrong.json', '--json')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('the file must be an object'),
    });
    write('['.repeat(100_000));
    expect(await err()).toMatch(/wrong\.json:1:33: nested more than 32 deep/);
    expect(existsSync(join(place.folder, '.retinue'))).toBe(false);
    write('{ "cases": [{ "name": "a", "task": "x", "expect": { "includes": ["y"] } }] }');
    expect(await err('--replay')).toMatch(/there is no finished eval `wrong` to judge again/);
    expect(await err('--fail-under', '101')).toMatch(/is not a percentage/);
    expect((await place.run('eval', 'wrong.json')).err).toMatch(/script\.json: runs/);
    expect((await place.run('eval', 'list')).out).not.toContain('wrong');
    // The script has no entry for it: that is no failure of the agent.
    writeFileSync(join(place.folder, 'script.json'), JSON.stringify({ runs: [{ when: { task: 'other' }, steps: [] }] }));
    const report = await evaluate(place, 'wrong.json', '--fail-under', '0');
    expect(report).toMatchObject({ code: 1, results: [{ verdict: 'error', reason: expect.stringContaining('script') }] });
    expect(await err()).toMatch(/no case could be judged: script: .*script/);
    expect((await place.run('eval', 'show')).code).toBe(0);
  }, 120_000);
});
