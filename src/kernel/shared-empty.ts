// Empty collections that all runs share. Most runs never have plans, children or taint, and an empty map of its own takes as much memory as a short message.
// Writing to one of them throws: a writer takes `ownMap` or `ownSet` first.

class NoEntries<K, V> extends Map<K, V> {
  override set(): never {
    throw new TypeError('this map is shared and stays empty');
  }
}

class NoValues<T> extends Set<T> {
  override add(): never {
    throw new TypeError('this set is shared and stays empty');
  }
}

const noEntries = new NoEntries<never, never>();
const noValues = new NoValues<never>();

export function sharedEmptyMap<K, V>(): Map<K, V> {
  return noEntries as unknown as Map<K, V>;
}

export function sharedEmptySet<T>(): Set<T> {
  return noValues as unknown as Set<T>;
}

/** The map itself, or a new one in place of the shared one. */
export function ownMap<K, V>(map: Map<K, V>): Map<K, V> {
  return (map as unknown) === noEntries ? new Map() : map;
}

export function ownSet<T>(set: Set<T>): Set<T> {
  return (set as unknown) === noValues ? new Set() : set;
}
