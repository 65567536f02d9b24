/**
 * Time. Deadlines use the monotonic clock, so that a jump of the wall clock does not move them; the wall clock only dates facts. Never fails.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since an arbitrary start; never decreases. */
  monotonic(): number;
  /** Calls `fire` once, when `monotonic()` has reached `due`. Returns a function that cancels. `fire` must not throw. */
  at(due: number, fire: () => void): () => void;
  /** Calls `run` soon, after work that is already queued. `delayMs`: it is not urgent, and may take about this long. */
  defer(run: () => void, delayMs?: number): void;
}
