// The parts of a stacked chart: one column per period, one part per agent or model. Pure.
import type { CostRow } from '../../../src/contract/view.ts';
import { niceAtLeast } from '../timeline/nice.ts';
import { tickStep } from '../timeline/ticks.ts';
import { type Grouping, keyOf, type Measure, measureOf, type Sum, sumRows } from './group.ts';

/** Parts beyond this number are one part, `Other`. */
export const maxSeries = 7;
export const otherKey = 'Other';

export interface Column {
  period: string;
  sum: Sum;
  /** In the order of the series; 0 if there is nothing or nothing known. */
  values: number[];
}

export interface Stack {
  /** The largest first. */
  series: string[];
  columns: Column[];
  max: number;
}

export function stackRows(
  rows: CostRow[],
  { by, measure, periods }: { by: Exclude<Grouping, 'day'>; measure: Measure; periods: string[] },
): Stack {
  const totals = [...Map.groupBy(rows, (row) => keyOf(row, by))]
    .map(([key, each]) => ({ key, value: measureOf(sumRows(each), measure) ?? 0 }))
    .toSorted((a, b) => b.value - a.value || a.key.localeCompare(b.key, 'en'));
  const isCut = totals.length > maxSeries + 1;
  const named = (isCut ? totals.slice(0, maxSeries) : totals).map(({ key }) => key);
  const series = isCut ? [...named, otherKey] : named;
  const length = periods[0]?.length ?? 10;
  const byPeriod = Map.groupBy(rows, ({ day }) => day.slice(0, length));
  const columns = periods.map((period) => {
    const own = byPeriod.get(period) ?? [];
    const parts = Map.groupBy(own, (row) => (named.includes(keyOf(row, by)) ? keyOf(row, by) : otherKey));
    const values = series.map((key) => measureOf(sumRows(parts.get(key) ?? []), measure) ?? 0);
    return { period, sum: sumRows(own), values };
  });
  return { series, columns, max: Math.max(0, ...columns.map(({ values }) => values.reduce((sum, value) => sum + value, 0))) };
}

/** From 0 to at least the maximum, about four steps. Times have steps that people count in. */
export function valueTicks(max: number, measure: Measure): number[] {
  if (!(max > 0)) return [0];
  const wholeOnly = measure === 'runs' || measure === 'tokens';
  const step = measure === 'time' ? tickStep(max, 4, 1) : Math.max(niceAtLeast(max / 4), wholeOnly ? 1 : 0);
  return Array.from({ length: Math.ceil(max / step - 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}
