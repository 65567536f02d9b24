// `retinue budget`, and budgets over several real processes on a file and on a server.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunView } from '../../src/api/api.ts';
import type { BudgetState } from '../../src/contract/budget.ts';
import { createTestDatabase } from '../support/postgres/database.ts';
import { createPlace, type Place } from './support-process.ts';

const price = { input: 1, output: 1 };
const usage = { input: 1_999, output: 1 };
const call = (n: number) => ({ calls: [{ tool: 'list', args: { path: `missing-${n}` } }], usage, delayMs: 30 });
/** Many calls that cost less than their estimates: then the limit is never exceeded. */
const worker = {
  model: { price },
  runs: [{ times: 'any', steps: [...Array.from({ length: 30 }, (_, n) => call(n)), { text: 'done', usage }] }],
};

const list = async (place: Place) => JSON.parse((await place.run('budget', '--json')).out) as BudgetState[];
const runs = async (place: Place) => JSON.parse((await place.run('ps', '--all', '--json')).out) as RunView[];
const spentBy = (rows: RunView[]) => rows.reduce((sum, { tokens }) => sum + tokens.input + tokens.output, 0);

async function createPlaceOn(kind: 'file' | 'server'): Promise<Place> {
  const database = kind === 'server' ? await createTestDatabase() : null;
  const place = createPlace(worker, database ? { RETINUE_DB: database.url } : {});
  onTestFinished(async () => {
    place[Symbol.dispose]();
    await database?.remove();
  });
  return place;
}

describe.each(['file', 'server'] as const)('budgets of processes on a %s', (kind) => {
  it('are not exceeded by five processes at once, of which one is killed', { timeout: 180_000 }, async () => {
    const place = await createPlaceOn(kind);
    const limit = 150_000;
    expect((await place.run('budget', 'set', 'team', '--tokens', String(limit), '--per', 'total', '--when-exceeded', 'refuse')).code).toBe(
      0,
    );
    const started = Array.from({ length: 5 }, () => place.start('run', '--budget', 'team', '--json', 'work'));
    await expect.poll(async () => (await list(place))[0]?.spent.tokens, { timeout: 60_000 }).toBeGreaterThan(10_000);
    started[0]?.process.kill('SIGKILL');
    const ended = (await Promise.all(started.map(({ finished }) => finished))).slice(1);
    expect(ended.map(({ code }) => code)).toEqual(ended.map(() => 3));
    expect(JSON.parse(ended[0]?.out ?? '')).toMatchObject({
      status: 'exhausted',
      error: { message: 'the limit of the budget team was reached' },
    });
    const [budget] = (await list(place)) as [BudgetState];
    const rows = await runs(place);
    expect(budget.spent.tokens).toBe(spentBy(rows));
    expect(budget.reserved).toEqual({ tokens: 0, costUsd: 0 });
    expect(budget.spent.tokens).toBeLessThanOrEqual(limit);
    // What is left is less than a call with its wrap-up.
    expect(budget.spent.tokens).toBeGreaterThan(limit - 30_000);
    await place.run('budget', 'set', 'team', '--tokens', '1000000');
    expect((await place.run('resume')).code).toBe(0);
    const [after] = (await list(place)) as [BudgetState];
    expect(after.spent.tokens).toBe(spentBy(await runs(place)));
    expect(after.reserved.tokens).toBe(0);
  });
});

it('are defined, shown and removed; wrong input exits with 2 and a sentence', { timeout: 60_000 }, async () => {
  const place = await createPlaceOn('file');
  expect(await place.run('budget')).toMatchObject({ code: 0, out: '', err: expect.stringContaining('no budgets yet') });
  const set = await place.run('budget', 'set', 'team', '--usd', '0.5', '--per', 'day', '--timezone', 'Asia/Tokyo');
  expect(set.out).toContain('$0 of $0.50');
  expect(await list(place)).toMatchObject([
    { name: 'team', costUsd: 0.5, tokens: null, per: 'day', timezone: 'Asia/Tokyo', whenExceeded: 'pause' },
  ]);
  expect((await place.run('budget', 'set', 'team', '--when-exceeded', 'refuse')).code).toBe(0);
  expect(await list(place)).toMatchObject([{ costUsd: 0.5, per: 'day', whenExceeded: 'refuse' }]);
  for (const [args, message] of [
    [['set', 'x'], 'give --usd, --tokens or both'],
    [['set', 'a/b', '--usd', '1'], 'the name of a budget must be'],
    [['set', 'x', '--usd', '-1'], 'is not an amount'],
    [['set', 'x', '--usd', '1', '--timezone', 'Mars'], '--timezone must be a time zone'],
    [['set', 'x', '--usd', '1', '--per', 'week'], 'unknown value `week`'],
    [['add', 'x'], 'unknown argument `add`'],
    [['rm'], 'the name is missing'],
  ] as const)
    expect(await place.run('budget', ...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  expect(await place.run('run', '--budget', 'taem', 'x')).toMatchObject({ code: 2, err: expect.stringContaining('did you mean `team`') });
  expect(await place.run('budget', 'rm', 'other')).toMatchObject({ code: 1, err: expect.stringContaining('unknown budget `other`') });
  expect(await place.run('budget', 'rm', 'team')).toMatchObject({ code: 0, out: 'removed team\n' });
});

it('of the configuration apply to every run, also those of an untrusted workspace file', { timeout: 60_000 }, async () => {
  const place = await createPlaceOn('file');
  await place.run('budget', 'set', 'team', '--usd', '5');
  writeFileSync(join(place.folder, 'retinue.config.json'), JSON.stringify({ budgets: ['team'] }));
  const { out, err } = await place.run('run', '--json', 'work');
  expect(JSON.parse(out)).toMatchObject({ status: 'completed' });
  expect(err).not.toContain('not trusted');
  expect(await list(place)).toMatchObject([{ spent: { tokens: 31 * 2_000, costUsd: 0.062 } }]);
  expect((await place.run('show', 'last')).out).toMatch(/budgets +team/);
});
