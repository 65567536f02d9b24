// Waits until a command that serves is asked to stop. A second request exits at once.
import type { Io, Stop } from '../io.ts';
import { stopExitCode } from './stop-signals.ts';

/** The process exits within this time after the request, if nothing else is said. Unfinished work is in the database. */
const defaultForcedExitMs = 10_000;

export interface StopRequest {
  requested: Promise<Stop>;
  /** Call when the work is done. */
  end(): void;
}

/** A closed standard output is not a request: the reader of the first line may leave. */
export function waitForStop(io: Io, message: string, forcedExitMs = defaultForcedExitMs): StopRequest {
  const request = Promise.withResolvers<Stop>();
  let isRequested = false;
  let stopTimer = () => {};
  io.onInterrupt((why) => {
    if (why === 'closed') return;
    if (isRequested) io.exitNow(stopExitCode(why));
    isRequested = true;
    if (why === 'interrupt') io.err(`retinue: ${message}\n`);
    stopTimer = io.repeat(forcedExitMs, () => io.exitNow(stopExitCode(why)));
    request.resolve(why);
  });
  return { requested: request.promise, end: () => stopTimer() };
}
