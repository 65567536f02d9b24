// Waiting on the clock, for the delays of scripted steps.
import type { Clock } from '../../ports/clock.ts';

/** Resolves after `ms` on the clock; rejects with the signal's reason if that fires first. */
export function wait(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.at(clock.monotonic() + ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
