// Finds facts by the text of their data, newest first. Reads the table backwards in windows, so that a search through a large database does not
// block the event loop.
import type { StatementSync } from 'node:sqlite';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { SearchOptions } from '../../ports/store.ts';
import { textToPattern } from '../stored-rows.ts';
import { selectFacts, selectWholeData } from './fact-rows.ts';

const windowMs = 6;
const smallestWindow = 50;
const largestWindow = 20_000;

function createQuery(version: number): string {
  return `${selectFacts(version)} WHERE f.position > ? AND f.position <= ? AND ${selectWholeData(version)} LIKE ? ESCAPE '\\'
    ORDER BY f.position DESC`;
}

export async function searchRows(
  statements: (sql: string) => StatementSync,
  text: string,
  { limit, signal, newest, version }: SearchOptions & { newest: number; version: number },
): Promise<unknown[]> {
  const pattern = textToPattern(text);
  const query = createQuery(version);
  const found: unknown[] = [];
  let size = 500;
  let end = newest;
  while (end > 0 && found.length < limit && !signal?.aborted) {
    const startedAt = performance.now();
    found.push(...statements(query).all(end - size, end, pattern));
    end -= size;
    size = performance.now() - startedAt > windowMs ? Math.max(smallestWindow, size >> 1) : Math.min(largestWindow, size * 2);
    await yieldToEventLoop();
  }
  return found.slice(0, limit);
}
