// Cuts JSON values and keeps them JSON: only long strings inside the value are shortened.
import type { Json } from '../contract/json.ts';
import { cutBytes, formatTruncation } from './cut.ts';

/** Shorter strings are never cut: they are names, states and messages. */
const minCutBytes = 64;
const earlierNotice = /\n\[truncated: kept \d+ of (\d+) bytes\]$/;

/**
 * Shortens the longest strings until the JSON text has at most `max` bytes. Each cut string ends with a notice that says how much of it was
 * kept. Keys, numbers and short strings stay, so the result can be larger than a very small `max`.
 */
export function fitJson<T>(value: T, max: number): T {
  if (measureJson(value) <= max) return value;
  let [low, high] = [minCutBytes, Math.max(minCutBytes, max)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measureJson(cutStrings(value as Json, middle)) <= max) low = middle;
    else high = middle - 1;
  }
  return cutStrings(value as Json, low) as T;
}

export function measureJson(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function cutStrings(value: Json, max: number): Json {
  if (typeof value === 'string') return cutString(value, max);
  if (Array.isArray(value)) return value.map((item) => cutStrings(item, max));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cutStrings(inner as Json, max)]));
}

/** A text that was cut before keeps the number of its original bytes. */
function cutString(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text;
  const earlier = earlierNotice.exec(text);
  const { text: kept, originalBytes, keptBytes } = cutBytes(earlier === null ? text : text.slice(0, earlier.index), max);
  return `${kept}\n${formatTruncation({ keptBytes, originalBytes: earlier === null ? originalBytes : Number(earlier[1]) })}`;
}
