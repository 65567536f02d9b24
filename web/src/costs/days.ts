// Days as in cost rows: `2026-11-17`, in UTC. Pure.
import type { CostRow } from '../../../src/contract/view.ts';

const dayMs = 86_400_000;
/** More bars than this cannot be told apart, so longer times are shown by month. */
const maxBars = 120;

export type RangeName = '7' | '30' | '90' | 'all';

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Rows of the last days, with today. */
export function rowsInRange(rows: CostRow[], range: RangeName, now: number): CostRow[] {
  if (range === 'all') return rows;
  const first = toDay(now - (Number(range) - 1) * dayMs);
  return rows.filter(({ day }) => day >= first);
}

/** All days of the range in order, also those without a run. For `all`: from the first day with a run; months if that is long ago. */
export function listPeriods(rows: CostRow[], range: RangeName, now: number): { periods: string[]; isByMonth: boolean } {
  const today = toDay(now);
  const days = rows.map(({ day }) => day);
  const last = days.reduce((max, day) => (day > max ? day : max), today);
  const earliest = days.reduce((min, day) => (day < min ? day : min), today);
  const first = range === 'all' ? earliest : toDay(now - (Number(range) - 1) * dayMs);
  const count = Math.round((Date.parse(last) - Date.parse(first)) / dayMs) + 1;
  if (count <= maxBars) return { periods: Array.from({ length: count }, (_, i) => toDay(Date.parse(first) + i * dayMs)), isByMonth: false };
  return { periods: listMonths(first.slice(0, 7), last.slice(0, 7)), isByMonth: true };
}

function listMonths(first: string, last: string): string[] {
  const months: string[] = [];
  let [year, month] = first.split('-').map(Number) as [number, number];
  for (let at = first; at <= last; ) {
    months.push(at);
    month = month === 12 ? 1 : month + 1;
    if (month === 1) year++;
    at = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
  }
  return months;
}

const dayFormat = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });
const monthFormat = new Intl.DateTimeFormat('en', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** `Nov 17`, or `Nov 2026` for a month. */
export function formatPeriod(period: string): string {
  return (period.length === 7 ? monthFormat : dayFormat).format(Date.parse(period));
}
