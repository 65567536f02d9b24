// Requests to stop a command that drives runs: Ctrl-C, SIGTERM, a closed output. The first request stops the runs in order; a second one exits
// at once.
import type { Api, RunHandle } from '../../api/api.ts';
import { isRetinueError } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import type { Io, Stop } from '../io.ts';
import type { Progress } from '../progress/progress.ts';

export const stopReasons: Record<Stop, string> = {
  interrupt: 'interrupted',
  terminate: 'its process was asked to stop',
  closed: 'output closed',
};

/** After SIGTERM the process exits within this time. Unfinished work is in the database for `retinue resume`. */
const forcedExitMs = 10_000;

export interface StopHandler {
  /** The first request; null if there was none. */
  requested(): Stop | null;
  /** Call when the work is done. After a request, a second Ctrl-C is handled until the process exits. */
  end(): void;
}

/** Calls `onStop` for the first request. `doing`: what Ctrl-C does to the runs. */
export function handleStops(io: Io, progress: Progress, onStop: (why: Stop) => void, doing = 'cancelling'): StopHandler {
  let requested: Stop | null = null;
  let stopTimer = () => {};
  const release = io.onInterrupt((why) => {
    if (requested !== null) {
      if (why !== 'closed') io.exitNow(stopExitCode(why));
      return;
    }
    requested = why;
    if (why === 'interrupt') progress.print(`retinue: ${doing}; press Ctrl-C again to exit at once\n`);
    if (why === 'terminate') stopTimer = io.repeat(forcedExitMs, () => io.exitNow(stopExitCode(why)));
    onStop(why);
  });
  return {
    requested: () => requested,
    end() {
      stopTimer();
      if (requested === null) release();
    },
  };
}

/** The codes that shells report for a process that a signal ended. */
export function stopExitCode(why: Stop): number {
  return why === 'terminate' ? 143 : 130;
}

export function cancelRun(handle: RunHandle, why: Stop, progress: Progress): void {
  handle.cancel(stopReasons[why]).catch((error: unknown) => {
    progress.print(`retinue: could not cancel the run: ${sanitizeLine(String((error as Error)?.message ?? error))}\n`);
  });
}

/** Pauses everything that this process drives, for another process to continue. */
export function pauseForExit(api: Api): void {
  void api.drain(stopReasons.terminate).catch(() => {});
}

/** Null if the run was paused before it ended. */
export async function outcomeUnlessPaused(outcome: Promise<Outcome>): Promise<Outcome | null> {
  try {
    return await outcome;
  } catch (error) {
    if (isRetinueError(error) && error.code === 'paused') return null;
    throw error;
  }
}
