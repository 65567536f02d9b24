// Retrying while the database is locked.
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy } from './errors.ts';

/**
 * Retries while the database is locked. The event loop stays free in between, which SQLite's own waiting would block.
 * Throws the last error after `giveUpMs`.
 */
export async function retryWhileBusy<T>(attempt: () => T | Promise<T>, giveUpMs: number): Promise<T> {
  const deadline = performance.now() + giveUpMs;
  for (let failedAttempts = 0; ; failedAttempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      await sleep(backoffMs(failedAttempts));
    }
  }
}

/** Exponential backoff up to 100 ms, with jitter so that processes do not retry in step. */
export function backoffMs(failedAttempts: number): number {
  return Math.min(100, 4 * 1.5 ** failedAttempts) * (0.5 + Math.random());
}
