import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy } from './errors.ts';

/**
 * Repeats what met a lock, leaving the event loop free in between: SQLite's own wait would freeze it.
 * Throws the last error once `giveUpMs` are over.
 */
export async function patiently<T>(attempt: () => T | Promise<T>, giveUpMs: number): Promise<T> {
  const end = performance.now() + giveUpMs;
  for (let round = 0; ; round++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error;
      await sleep(pause(round));
    }
  }
}

/** Milliseconds to wait before the next attempt: growing, and never in step with other processes. */
export function pause(round: number): number {
  return Math.min(100, 4 * 1.5 ** round) * (0.5 + Math.random());
}
