import type { Json } from '../contract/json.ts';

/** A deep copy of a JSON value. `structuredClone` takes ten times as long. */
export function copyJson(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson);
  // Unlike an assignment, this also copies a key that is called `__proto__`.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyJson(item)]));
}
