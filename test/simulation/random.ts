// A seeded random generator: the same seed produces the same numbers on every machine.

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** An integer from `from` to `to`, both included. */
  int(from: number, to: number): number;
  /** True with probability `p`. */
  hit(p: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** Another generator; using it does not advance this one. */
  fork(): Random;
}

/** mulberry32 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  const int = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return {
    next,
    int,
    hit: (p) => next() < p,
    pick: (list) => list[int(0, list.length - 1)] as (typeof list)[number],
    fork: () => createRandom(int(0, 0xffffffff)),
  };
}
