// Sums and charts of costs.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CostRow } from '../../src/contract/view.ts';
import { toCsv } from '../../web/src/costs/csv.ts';
import { formatPeriod, listPeriods, rowsInRange } from '../../web/src/costs/days.ts';
import { groupRows, measureOf, sortGroups, sumRows } from '../../web/src/costs/group.ts';
import { maxSeries, otherKey, stackRows, valueTicks } from '../../web/src/costs/stack.ts';

const row = (more: Partial<CostRow> & { input?: number } = {}): CostRow => {
  const { input = 100, ...rest } = more;
  return {
    day: '2026-11-10',
    agent: 'general',
    model: 'm',
    runs: 1,
    tokens: { input, output: 10, cached: 5, reasoning: 0 },
    costUsd: 0.5,
    ms: 1000,
    ...rest,
  };
};
const now = Date.parse('2026-11-17T23:59:00Z');

describe('sums', () => {
  it('add up by agent, model and day', () => {
    const rows = [row(), row({ agent: 'explore', day: '2026-11-11' }), row({ model: 'n', runs: 2 })];
    expect(groupRows(rows, 'agent').map(({ key, runs, costUsd }) => [key, runs, costUsd])).toEqual([
      ['general', 3, 1],
      ['explore', 1, 0.5],
    ]);
    expect(groupRows(rows, 'day').map(({ key, ms }) => [key, ms])).toEqual([
      ['2026-11-10', 2000],
      ['2026-11-11', 1000],
    ]);
    expect(groupRows([row({ model: null })], 'model')[0]?.key).toBe('unknown');
  });

  it('never show an unknown price as zero', () => {
    expect(sumRows([row({ costUsd: null })])).toMatchObject({ costUsd: null, hasUnknown: true });
    expect(sumRows([row({ costUsd: null }), row()])).toMatchObject({ costUsd: 0.5, hasUnknown: true });
    expect(sumRows([row()])).toMatchObject({ costUsd: 0.5, hasUnknown: false });
    expect(measureOf(sumRows([row({ costUsd: null })]), 'cost')).toBeNull();
  });

  it('count a run that made no call as free', () => {
    const unused = row({ costUsd: null, tokens: { input: 0, output: 0, cached: 0, reasoning: 0 } });
    expect(sumRows([unused])).toMatchObject({ costUsd: 0, hasUnknown: false });
    expect(sumRows([unused, row()])).toMatchObject({ costUsd: 0.5, hasUnknown: false });
  });

  it('sort with unknown costs last', () => {
    const groups = groupRows(
      [row({ agent: 'a', costUsd: 1 }), row({ agent: 'b', costUsd: null }), row({ agent: 'c', costUsd: 3 })],
      'agent',
    );
    const keys = (isDescending: boolean) => sortGroups(groups, 'cost', isDescending).map(({ key }) => key);
    expect([keys(true), keys(false)]).toEqual([
      ['c', 'a', 'b'],
      ['a', 'c', 'b'],
    ]);
    expect(sortGroups(groups, 'key', true).map(({ key }) => key)).toEqual(['c', 'b', 'a']);
  });
});

describe('days', () => {
  it('of a range include today and days without runs', () => {
    const rows = [row({ day: '2026-11-10' }), row({ day: '2026-11-11' }), row({ day: '2026-11-17' })];
    expect(rowsInRange(rows, '7', now).map(({ day }) => day)).toEqual(['2026-11-11', '2026-11-17']);
    const { periods } = listPeriods(rows, '7', now);
    expect([periods.length, periods[0], periods.at(-1)]).toEqual([7, '2026-11-11', '2026-11-17']);
    expect(listPeriods(rows, 'all', now).periods).toHaveLength(8);
    expect(listPeriods([], 'all', now).periods).toEqual(['2026-11-17']);
  });

  it('become months if they are too many', () => {
    const { periods, isByMonth } = listPeriods([row({ day: '2025-12-31' })], 'all', now);
    expect([isByMonth, periods[0], periods[1], periods.length]).toEqual([true, '2025-12', '2026-01', 12]);
    expect([formatPeriod('2026-11-07'), formatPeriod('2026-11')]).toEqual(['Nov 7', 'Nov 2026']);
  });

  it('keep a day that is later than the clock of this browser', () => {
    expect(listPeriods([row({ day: '2026-11-18' })], '7', now).periods.at(-1)).toBe('2026-11-18');
  });
});

describe('stacks', () => {
  it('have all of every period in their parts', () => {
    const rows = fc.array(
      fc.record({
        day: fc.constantFrom('2026-11-15', '2026-11-16', '2026-11-17'),
        agent: fc.constantFrom(...'abcdefghijkl'),
        ms: fc.integer({ min: 0, max: 1000 }),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(rows, (given) => {
        const all = given.map((each) => row(each));
        const { series, columns, max } = stackRows(all, { by: 'agent', measure: 'time', periods: listPeriods(all, '7', now).periods });
        expect(series.length).toBeLessThanOrEqual(maxSeries + 1);
        const sum = columns.flatMap(({ values }) => values).reduce((a, b) => a + b, 0);
        expect(sum).toBe(all.reduce((a, { ms }) => a + ms, 0));
        for (const { values } of columns) expect(values.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(max);
      }),
    );
  });

  it('put the largest first and small ones together', () => {
    const rows = [...'abcdefghijk'].map((agent, i) => row({ agent, ms: i + 1 }));
    const { series } = stackRows(rows, { by: 'agent', measure: 'time', periods: ['2026-11-10'] });
    expect([series[0], series.at(-1), series.length]).toEqual(['k', otherKey, maxSeries + 1]);
    const few = stackRows(rows.slice(0, maxSeries + 1), { by: 'agent', measure: 'time', periods: ['2026-11-10'] });
    expect(few.series).not.toContain(otherKey);
  });

  it('are summed by month for months', () => {
    const rows = [row({ day: '2026-01-01' }), row({ day: '2026-01-31' })];
    expect(stackRows(rows, { by: 'agent', measure: 'runs', periods: ['2026-01', '2026-02'] }).columns.map(({ values }) => values)).toEqual([
      [2],
      [0],
    ]);
  });

  it.each([
    [0, 'cost', [0]],
    [0.37, 'cost', [0, 0.1, 0.2, 0.3, 0.4]],
    [3, 'runs', [0, 1, 2, 3]],
    [10, 'runs', [0, 5, 10]],
    [130_000, 'time', [0, 60_000, 120_000, 180_000]],
  ] as const)('up to %d of %s have ticks', (max, measure, ticks) => {
    expect(valueTicks(max, measure)).toEqual(ticks);
  });

  it('have ticks that reach the maximum', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (max) => {
        const ticks = valueTicks(max, 'cost');
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(max * (1 - 1e-6));
        expect(ticks.length).toBeLessThanOrEqual(6);
      }),
    );
  });
});

it('writes CSV that a spreadsheet does not execute', () => {
  expect(
    toCsv(
      ['agent', 'cost'],
      [
        ['a "b", c', 1.5],
        ['=HYPERLINK("x")', null],
      ],
    ),
  ).toBe('agent,cost\r\n"a ""b"", c",1.5\r\n"\'=HYPERLINK(""x"")",');
});
