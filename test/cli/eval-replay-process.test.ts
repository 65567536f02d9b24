// `retinue eval --replay` with real processes: which reviews are made again, and which verdicts are taken from evals before.
import { cpSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { change, evaluate, evaluateWith } from './support-eval.ts';
import { createPlace, type Place } from './support-process.ts';

const examples = resolve(import.meta.dirname, '../../examples/evals');

const submit = (verdict: string, reason: string) => ({ calls: [{ tool: 'submit_result', args: { verdict, reason } }] });

/** The reviewer of a check whose task is STRICT fails it, that of LENIENT passes it. */
const reviewers = {
  model: { price: { input: 1, output: 1 } },
  runs: [
    { when: { agent: 'review', task: 'STRICT' }, times: 'any', steps: [submit('fail', 'strict says no')] },
    { when: { agent: 'review', task: 'LENIENT' }, times: 'any', steps: [submit('pass', 'lenient says yes')] },
    { when: { task: 'answer' }, times: 'any', steps: [{ text: 'the answer' }] },
  ],
};

const review = (task: string) => ({ agent: 'review', task });

function writeChecks(place: Place, checks: object[]): void {
  writeFileSync(join(place.folder, 'reviewed.json'), JSON.stringify({ cases: [{ name: 'a', task: 'answer', checks }] }));
}

/** How many reviewers the runs of an eval have started. */
async function countReviews(place: Place, rootId: string): Promise<number> {
  const created = (await place.facts((all) => all.length > 0)).flatMap((fact) => (fact.type === 'child.created' ? [fact] : []));
  const runs = new Set(created.filter(({ runId }) => runId === rootId).map(({ data }) => data.childId));
  return created.filter(({ runId, data }) => runs.has(runId) && data.check !== undefined).length;
}

describe('retinue eval --replay', () => {
  it('takes the verdict of the review that the file has, however often it is repeated', async () => {
    using place = createPlace(reviewers);
    const steps: { checks: object[]; expected: [verdict: string, reason: string | null, reviews: number] }[] = [
      { checks: [review('LENIENT')], expected: ['passed', null, 1] },
      { checks: [review('LENIENT')], expected: ['passed', null, 0] },
      // The verdict of the first eval is still there, at another place.
      { checks: [review('LENIENT'), review('STRICT')], expected: ['failed', 'review by review: STRICT: strict says no', 0] },
      { checks: [review('STRICT'), review('LENIENT')], expected: ['failed', 'review by review: STRICT: strict says no', 0] },
    ];
    writeChecks(place, [review('STRICT')]);
    expect(await evaluate(place, 'reviewed.json')).toMatchObject({ results: [{ verdict: 'failed' }] });
    for (const { checks, expected } of steps) {
      writeChecks(place, checks);
      const { runId, results } = await evaluate(place, 'reviewed.json', '--replay');
      expect(results.map(({ verdict, reason }) => [verdict, reason])).toEqual([expected.slice(0, 2)]);
      expect(await countReviews(place, runId)).toBe(expected[2]);
    }
  }, 120_000);

  it('makes a changed review again with models without a known price, where the eval did so', async () => {
    const { model: _, ...unpriced } = reviewers;
    using place = createPlace(unpriced);
    writeChecks(place, [review('STRICT')]);
    const first = await evaluate(place, 'reviewed.json');
    expect([first.results, first.variants]).toMatchObject([[{ verdict: 'failed' }], [{ rate: { costUsd: null } }]]);
    writeChecks(place, [review('LENIENT')]);
    const second = await evaluate(place, 'reviewed.json', '--replay');
    expect(second).toMatchObject({ code: 0, results: [{ verdict: 'passed', reason: null }] });
    expect(await countReviews(place, second.runId)).toBe(1);
  }, 60_000);

  it('makes a new review with the model that did the work, not with the default one of today', async () => {
    using place = createPlace(reviewers);
    const write = (task: string) => {
      const cases = [{ name: 'a', task: 'answer', checks: [review(task)] }];
      writeFileSync(join(place.folder, 'models.json'), JSON.stringify({ models: ['script/script.json'], cases }));
    };
    write('STRICT');
    expect(await evaluate(place, 'models.json')).toMatchObject({ results: [{ verdict: 'failed' }] });
    write('LENIENT');
    for (const other of ['script/none.json', '']) {
      const { results } = await evaluateWith({ RETINUE_MODEL: other }, place, 'models.json', '--replay');
      expect(results).toMatchObject([{ verdict: 'passed', reason: null }]);
    }
  }, 60_000);

  it('compares totals only over cases that both evals have judged', async () => {
    using place = createPlace(reviewers);
    const write = (first: string) => {
      const cases = ['a', 'b'].map((name, index) => ({
        name,
        task: index === 0 ? first : 'answer',
        checks: [review(index === 0 ? 'STRICT' : 'LENIENT')],
      }));
      writeFileSync(join(place.folder, 'totals.json'), JSON.stringify({ cases }));
    };
    write('answer');
    await evaluate(place, 'totals.json');
    write('answer again');
    for (const how of [['--replay'], ['--new']]) {
      const { variants, cases } = await evaluate(place, 'totals.json', ...how);
      expect(cases.filter(({ change }) => change === 'better' || change === 'worse')).toEqual([]);
      expect(variants).toMatchObject([{ compared: { passRate: 1, judged: 1 }, before: { passRate: 1, judged: 1 } }]);
    }
  }, 60_000);

  it('gives a review no result of another check when the checks change places', async () => {
    using place = createPlace({ runs: [] });
    cpSync(examples, join(place.folder, 'examples/evals'), { recursive: true });
    const file = join(place.folder, 'examples/evals/small.json');
    const verdicts = ({ results }: Awaited<ReturnType<typeof evaluate>>) =>
      results.filter((each) => each.case === 'write a page').map(({ verdict }) => verdict);
    expect(verdicts(await evaluate(place, 'examples/evals/small.json'))).toEqual(['passed', 'failed']);
    change(file, (text) => {
      const definition = JSON.parse(text);
      definition.cases[2].checks.reverse();
      return JSON.stringify(definition);
    });
    for (const _ of ['once', 'twice'])
      expect(verdicts(await evaluate(place, 'examples/evals/small.json', '--replay'))).toEqual(['passed', 'failed']);
    const { groups } = JSON.parse((await place.start('costs', '--by', 'model', '--json').finished).out);
    const recorded = groups.filter(({ name }: { name: string }) => name.startsWith('recorded'));
    expect(recorded).toEqual([expect.objectContaining({ name: 'recorded', tokens: { input: 0, output: 0, cached: 0, reasoning: 0 } })]);
    expect(recorded[0].runs).toBeGreaterThan(2);
  }, 120_000);
});
