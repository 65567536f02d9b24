// The periods of budgets, in the time zone of each.
import type { BudgetDefinition } from '../contract/budget.ts';

export interface Period {
  /** `2026-11-17`, `2026-11` or `total`. */
  key: string;
  /** When the next one begins, in milliseconds since the epoch; null for `total`. */
  endsAt: number | null;
}

const dayMs = 86_400_000;
const longest = { day: 2 * dayMs, month: 33 * dayMs };

export function periodAt({ per, timezone }: Pick<BudgetDefinition, 'per' | 'timezone'>, now: number): Period {
  if (per === 'total') return { key: 'total', endsAt: null };
  const format = new Intl.DateTimeFormat('en', {
    timeZone: timezone,
    calendar: 'gregory',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  const keyAt = (at: number) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return per === 'day' ? `${parts.year}-${parts.month}-${parts.day}` : `${parts.year}-${parts.month}`;
  };
  const key = keyAt(now);
  // A search instead of arithmetic: a day may have 23 or 25 hours, and may begin at 1 o'clock.
  let [last, next] = [now, now + longest[per]];
  while (next - last > 1) {
    const middle = Math.floor((last + next) / 2);
    if (keyAt(middle) === key) last = middle;
    else next = middle;
  }
  return { key, endsAt: next };
}
