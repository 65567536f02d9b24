// JSON merge patches (RFC 7396): how one JSON object differs from another. A key of a patch that is null removes the key.
import type { Json, JsonObject } from '../contract/json.ts';

/** The patch that turns `from` into `to`. Null if no patch does: a patch cannot set a key to null. */
export function createMergePatch(from: JsonObject, to: JsonObject): JsonObject | null {
  // Assigning this key would set the prototype of the patch.
  if (Object.hasOwn(from, '__proto__') || Object.hasOwn(to, '__proto__')) return null;
  const patch: JsonObject = {};
  for (const key in to) {
    const after = to[key];
    if (after === undefined) continue;
    const before = Object.hasOwn(from, key) ? from[key] : undefined;
    if (isObject(before) && isObject(after)) {
      const inner = createMergePatch(before, after);
      if (inner === null) return null;
      if (!isEmpty(inner)) patch[key] = inner;
    } else if (!isEqual(before, after)) {
      if (!isExpressible(after)) return null;
      patch[key] = after;
    }
  }
  for (const key in from) if (!Object.hasOwn(to, key) || to[key] === undefined) patch[key] = null;
  return patch;
}

/** A patched copy. Its keys are sorted if those of `from` and of the patch are. */
export function applyMergePatch(from: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(from));
  for (const [key, value] of Object.entries(patch)) {
    const before = merged.get(key);
    if (value === null) merged.delete(key);
    else merged.set(key, isObject(value) ? applyMergePatch(isObject(before) ? before : {}, value) : value);
  }
  const entries = [...merged];
  if (entries.some(([key]) => !Object.hasOwn(from, key))) entries.sort(([a], [b]) => (a < b ? -1 : 1));
  // Unlike an assignment, this also sets a key that is called `__proto__`.
  return Object.fromEntries(entries);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: JsonObject): boolean {
  for (const _ in value) return false;
  return true;
}

/** Whether a patch can set a key to the value. JSON has no infinite numbers, and writes them as null. */
function isExpressible(value: Json): boolean {
  if (value === null || (typeof value === 'number' && !Number.isFinite(value))) return false;
  return !isObject(value) || Object.entries(value).every(([key, item]) => key !== '__proto__' && isExpressible(item));
}

function isEqual(a: Json | undefined, b: Json): boolean {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return a === b;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i] as Json));
  if (Array.isArray(b)) return false;
  const keys = Object.keys(b);
  return Object.keys(a).length === keys.length && keys.every((key) => Object.hasOwn(a, key) && isEqual(a[key], b[key] as Json));
}
