import type { SQLInputValue, StatementSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { CompiledQuery } from 'kysely';

const sliceMs = 8;

/**
 * Reads what a query gives, in slices of a few milliseconds: no snapshot is held and the event loop is free in between.
 * `page` makes the query for the rows after a cursor; `take` gives the value of a row and its cursor.
 */
export async function readSlices<T>(
  statements: (sql: string) => StatementSync,
  page: (cursor: number | null, limit: number) => CompiledQuery,
  take: (row: unknown) => [value: T, cursor: number],
  limit = Number.POSITIVE_INFINITY,
): Promise<T[]> {
  const values: T[] = [];
  let cursor: number | null = null;
  while (values.length < limit) {
    // Minus one is SQLite's way to say "no limit".
    const query = page(cursor, Number.isFinite(limit) ? limit - values.length : -1);
    const end = performance.now() + sliceMs;
    let whole = true;
    for (const row of statements(query.sql).iterate(...(query.parameters as SQLInputValue[]))) {
      const [value, next] = take(row);
      values.push(value);
      cursor = next;
      if (performance.now() >= end) {
        whole = false;
        break;
      }
    }
    if (whole) break;
    await turn();
  }
  return values;
}
