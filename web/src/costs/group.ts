// Sums of what runs used, by agent, model and day. Pure.
//
// C1. An unknown price is never zero: a sum without any known price is null, and one with some unknown prices says so (`hasUnknown`).
import type { CostRow } from '../../../src/contract/view.ts';

export type Grouping = 'agent' | 'model' | 'day';
export type Measure = 'cost' | 'tokens' | 'time' | 'runs';

export interface Sum {
  runs: number;
  input: number;
  output: number;
  cached: number;
  /** Null if no price is known for any of them. */
  costUsd: number | null;
  /** Some of the cost is not known. */
  hasUnknown: boolean;
  ms: number;
}

export interface Group extends Sum {
  key: string;
}

export function sumRows(rows: CostRow[]): Sum {
  const sum: Sum = { runs: 0, input: 0, output: 0, cached: 0, costUsd: null, hasUnknown: false, ms: 0 };
  for (const { runs, tokens, costUsd, ms } of rows) {
    sum.runs += runs;
    sum.input += tokens.input;
    sum.output += tokens.output;
    sum.cached += tokens.cached;
    sum.ms += ms;
    if (costUsd !== null) sum.costUsd = (sum.costUsd ?? 0) + costUsd;
    // A run that ended before its first call has cost nothing.
    else if (tokens.input + tokens.output > 0) sum.hasUnknown = true;
  }
  if (sum.costUsd === null && !sum.hasUnknown && rows.length > 0) sum.costUsd = 0;
  return sum;
}

export function groupRows(rows: CostRow[], by: Grouping): Group[] {
  return [...Map.groupBy(rows, (row) => keyOf(row, by))].map(([key, each]) => ({ key, ...sumRows(each) }));
}

export function keyOf(row: CostRow, by: Grouping): string {
  return row[by] ?? 'unknown';
}

/** The value of a measure; null if it is unknown. */
export function measureOf({ costUsd, input, output, ms, runs }: Sum, measure: Measure): number | null {
  return { cost: costUsd, tokens: input + output, time: ms, runs }[measure];
}

export type SortKey = 'key' | 'runs' | 'input' | 'output' | 'time' | 'cost';

/** Unknown costs come last in both directions. */
export function sortGroups(groups: Group[], key: SortKey, isDescending: boolean): Group[] {
  const sign = isDescending ? -1 : 1;
  return groups.toSorted((a, b) => {
    if (key === 'key') return sign * a.key.localeCompare(b.key, 'en');
    const [x, y] = [sortValue(a, key), sortValue(b, key)];
    if (x === null || y === null) return x === y ? a.key.localeCompare(b.key, 'en') : x === null ? 1 : -1;
    return sign * (x - y) || a.key.localeCompare(b.key, 'en');
  });
}

function sortValue({ runs, input, output, ms, costUsd }: Group, key: Exclude<SortKey, 'key'>): number | null {
  return { runs, input, output, time: ms, cost: costUsd }[key];
}
