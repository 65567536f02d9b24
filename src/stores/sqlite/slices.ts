// Reading long results without blocking the event loop.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { SqlQuery, Statements } from './tables.ts';

const sliceMs = 8;

/**
 * Reads the rows of a query in slices of a few milliseconds. Between slices the event loop runs and no snapshot is held.
 * `createPage` makes the query for the rows after a cursor; `readRow` returns the value of a row and its cursor.
 */
export async function readInSlices<T>(
  statements: Statements,
  createPage: (cursor: number | null, limit: number) => SqlQuery,
  readRow: (row: unknown) => [value: T, cursor: number],
  limit = Number.POSITIVE_INFINITY,
): Promise<T[]> {
  const values: T[] = [];
  let cursor: number | null = null;
  while (values.length < limit) {
    // For SQLite, -1 means no limit.
    const query = createPage(cursor, Number.isFinite(limit) ? limit - values.length : -1);
    const sliceEnd = performance.now() + sliceMs;
    let isComplete = true;
    for (const row of statements(query.sql).iterate(...query.parameters)) {
      const [value, nextCursor] = readRow(row);
      values.push(value);
      cursor = nextCursor;
      if (performance.now() >= sliceEnd) {
        isComplete = false;
        break;
      }
    }
    if (isComplete) break;
    await yieldToEventLoop();
  }
  return values;
}
