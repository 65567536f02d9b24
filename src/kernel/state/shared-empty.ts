// Empty collections that all runs share. Most runs never have plans, children or taint, and an empty map for each takes as much memory as a short message.
// Writing to a shared collection throws, so a writer calls `ensureOwnMap` or `ensureOwnSet` first.

class SharedEmptyMap<K, V> extends Map<K, V> {
  override set(): never {
    throw new TypeError('this map is shared and stays empty');
  }
}

class SharedEmptySet<T> extends Set<T> {
  override add(): never {
    throw new TypeError('this set is shared and stays empty');
  }
}

const emptyMap = new SharedEmptyMap<never, never>();
const emptySet = new SharedEmptySet<never>();

export function sharedEmptyMap<K, V>(): Map<K, V> {
  return emptyMap as unknown as Map<K, V>;
}

export function sharedEmptySet<T>(): Set<T> {
  return emptySet as unknown as Set<T>;
}

/** The map itself, or a new one in place of the shared one. */
export function ensureOwnMap<K, V>(map: Map<K, V>): Map<K, V> {
  return (map as unknown) === emptyMap ? new Map() : map;
}

export function ensureOwnSet<T>(set: Set<T>): Set<T> {
  return (set as unknown) === emptySet ? new Set() : set;
}
