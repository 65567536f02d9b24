import type { StopCause } from './run.ts';
import type { Ending } from './state/outcome.ts';

/** The ending of a run that was stopped. */
export function stopToEnding({ code, message }: StopCause): Ending {
  if (code === 'deadline') return { status: 'timed_out', code, message };
  return { status: 'cancelled', code: code === 'lost' || code === 'paused' ? 'cancelled' : code, message };
}
