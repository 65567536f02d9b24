// Waits for runs of other processes and shows what they do meanwhile: `wait`, and `resume` of runs that have a process.
import type { Api } from '../../api/api.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatOutcomeLine } from '../../views/describe-fact.ts';
import { outcomeToJson } from '../../views/json.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import type { Progress } from '../progress/progress.ts';
import { watchForOrphans } from './orphan-watch.ts';
import { outcomeToText } from './run-to-end.ts';
import { reportConnection } from './server.ts';
import { showRuns } from './show-runs.ts';

/** Why the waiting ended before the runs did. */
export type StopCause = 'interrupt' | 'timeout' | 'orphaned';

export interface WaitOptions {
  ids: string[];
  any: boolean;
  timeoutMs: number | null;
  progress: Progress;
}

/** Outcomes in the order of the ids, null for runs that have not ended. Ctrl-C stops the waiting, not the runs. */
export async function waitForRuns(
  io: Io,
  api: Api,
  { ids, any, timeoutMs, progress }: WaitOptions,
): Promise<{ outcomes: (Outcome | null)[]; stopped: StopCause | null }> {
  const stop = new AbortController();
  let stopped: StopCause | null = null;
  const end = (why: StopCause) => {
    stopped ??= why;
    stop.abort();
  };
  const release = io.onInterrupt(() => {
    if (stop.signal.aborted) io.exitNow(130);
    end('interrupt');
  });
  const stopTimer = timeoutMs === null ? () => {} : io.repeat(timeoutMs, () => end('timeout'));
  const stopWatch = watchForOrphans(io, api, { ids, any, onOrphan: () => end('orphaned') });
  const endReports = reportConnection(api.server, progress.print);
  // What cannot be shown can still be waited for.
  const shown = showRuns(api, ids, { progress, signal: stop.signal }).catch((error: unknown) => {
    if (!stop.signal.aborted)
      progress.print(`retinue: the progress cannot be shown: ${sanitizeLine(String((error as Error)?.message ?? error))}\n`);
  });
  try {
    const outcomes = await api.wait(ids, { any, signal: stop.signal });
    const isDone = any ? outcomes.some((outcome) => outcome !== null) : outcomes.every((outcome) => outcome !== null);
    if (!outcomes.every((outcome) => outcome !== null)) stop.abort();
    return { outcomes, stopped: isDone ? null : stopped };
  } catch (error) {
    if (stopped === null) {
      stop.abort();
      throw error;
    }
    // Some may have ended nevertheless, and their outcomes are worth printing.
    return { outcomes: await Promise.all(ids.map(async (id) => (await api.show(id)).outcome)), stopped };
  } finally {
    await shown;
    stopTimer();
    stopWatch();
    endReports();
    release();
  }
}

/** One result as `run` prints it. Of several, each below a line that says which run it belongs to. */
export function printOutcomes(io: Io, outcomes: (Outcome | null)[], { json, progress }: { json: boolean; progress: Progress }): void {
  if (json) {
    printJson(
      io,
      outcomes.map((outcome) => outcome && outcomeToJson(outcome)),
    );
    return;
  }
  const line = (outcome: Outcome, colour: boolean) => `${formatOutcomeLine(outcome, progress.count(outcome.runId), colour)}\n`;
  const ended = outcomes.filter((outcome) => outcome !== null);
  const [only] = ended;
  if (outcomes.length === 1 && only) {
    io.out(outcomeToText(only));
    io.err(line(only, io.colour.err));
  } else io.out(ended.map((outcome) => line(outcome, io.colour.out) + outcomeToText(outcome)).join('\n'));
}
