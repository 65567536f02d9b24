// A break of `retinue eval` is no time of its cases: the process that continues it has a clock that is an hour ahead.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredFact } from '../../src/contract/fact.ts';
import { evaluate, evaluateWith } from './support-eval.ts';
import { createPlace, type Place } from './support-process.ts';

const anHourLater = { NODE_OPTIONS: '--import=data:text/javascript,const%20now=Date.now;Date.now=()=>now()+3600000' };

const pass = { calls: [{ tool: 'submit_result', args: { verdict: 'pass', reason: 'fine' } }] };

/** `work` and `review`: the first steps of the case `slow` and of the reviewer of `reviewed`. */
const createScript = (work: object, review: object) => ({
  runs: [
    { when: { agent: 'review' }, times: 'any', steps: [review] },
    { when: { task: 'quick' }, times: 'any', steps: [{ text: 'done' }] },
    { when: { task: 'slow' }, times: 'any', steps: [work] },
  ],
});

function writeCases(place: Place, limits: object): void {
  const cases = [
    { name: 'slow', task: 'slow', limits, expect: { includes: ['done'] } },
    { name: 'reviewed', task: 'quick', limits: { timeoutMs: 7_200_000 }, checks: [{ agent: 'review', task: 'fine', limits }] },
    { name: 'quick', task: 'quick', limits, expect: { includes: ['done'] } },
  ];
  writeFileSync(join(place.folder, 'timed.json'), JSON.stringify({ cases }));
}

const countRuns = (facts: StoredFact[], rootId: string) =>
  facts.filter((each) => each.type === 'child.created' && each.runId === rootId).length;

/** The case `quick` has ended; the other two wait for a model, one of them for that of its reviewer. */
function isInFlight(facts: StoredFact[]): boolean {
  const asked = new Set(facts.flatMap((fact) => (fact.type === 'model.asked' ? [fact.runId] : [])));
  return asked.size === 4 && facts.filter(({ type }) => type === 'child.ended').length === 1;
}

describe('a break of an eval', () => {
  it.each(['SIGKILL', 'SIGINT'] as const)(
    'does not let a deadline decide a case (%s)',
    async (signal) => {
      using place = createPlace(createScript({ hang: 'start' }, { hang: 'start' }));
      writeCases(place, { timeoutMs: 600_000 });
      const started = place.start('eval', 'timed.json', '--allow', 'bash');
      const [root] = await place.facts(isInFlight);
      started.process.kill(signal);
      await started.finished;
      writeFileSync(join(place.folder, 'script.json'), JSON.stringify(createScript({ text: 'done' }, pass)));
      const { results, runId, code } = await evaluateWith(anHourLater, place, 'timed.json');
      expect([code, runId]).toEqual([0, root?.runId]);
      expect(results.map((each) => [each.case, each.verdict, each.reason])).toEqual([
        ['slow', 'passed', null],
        ['reviewed', 'passed', null],
        ['quick', 'passed', null],
      ]);
      // Both cases in flight were run again, the finished one was not.
      expect(countRuns(await place.facts(() => true), runId)).toBe(5);
      expect((await place.run('replay', runId)).code).toBe(0);
    },
    120_000,
  );

  it('is not a part of the time of its cases', async () => {
    using place = createPlace(createScript({ hang: 'start' }, { hang: 'start' }));
    writeCases(place, { timeoutMs: 7_200_000 });
    // A file can only lower the limit of the user.
    const own = join(place.folder, '.config', 'retinue');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'config.json'), JSON.stringify({ limits: { timeoutMs: 7_200_000 } }));
    const started = place.start('eval', 'timed.json', '--allow', 'bash');
    await place.facts(isInFlight);
    started.process.kill('SIGKILL');
    await started.finished;
    writeFileSync(join(place.folder, 'script.json'), JSON.stringify(createScript({ text: 'done' }, pass)));
    const { results, runId } = await evaluateWith(anHourLater, place, 'timed.json');
    // Nothing was run again, so each run has worked before and after the break.
    expect(countRuns(await place.facts(() => true), runId)).toBe(3);
    for (const { durationMs } of results) expect(durationMs).toBeLessThan(600_000);
  }, 120_000);

  it('is not assumed: a case that used up its time has failed, and is not run again', async () => {
    using place = createPlace(createScript({ hang: 'start' }, pass));
    writeCases(place, { timeoutMs: 2_000 });
    const { results, runId } = await evaluate(place, 'timed.json');
    expect(results[0]).toMatchObject({ verdict: 'failed', reason: 'deadline: the deadline passed' });
    expect(countRuns(await place.facts(() => true), runId)).toBe(3);
  }, 60_000);
});
