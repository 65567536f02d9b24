import type { Json } from '../contract/json.ts';
import { cleanText } from './cut.ts';

/** Removes control, bidirectional and invisible characters from all strings of a value. */
export function cleanJson(value: Json): Json {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cleanJson(inner as Json)]));
}
