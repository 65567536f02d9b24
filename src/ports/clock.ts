/**
 * Time. Deadlines are counted on the monotonic clock, so that a jump of the wall clock moves none of them;
 * the wall clock only dates facts. Never fails.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
  /** Calls `fire` once, when `monotonic()` has reached `due`. The returned function cancels. `fire` must not throw. */
  at(due: number, fire: () => void): () => void;
  /** Calls `run` soon, after the work that is already queued. */
  defer(run: () => void): void;
}
