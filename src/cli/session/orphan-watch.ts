// Runs whose process has died. They never end without `retinue resume` or `retinue cancel`, so no command waits for them.
import type { Api, RunDetail } from '../../api/api.ts';
import type { Io } from '../io.ts';

export const orphanMessage =
  'will not end: its process has died, or it is paused; continue it with `retinue resume` or end it with `retinue cancel`';

const checkMs = 2000;
/** A server that was restarted continues its runs, so a run without a process counts only if it stays so. */
const serverChecks = 6;

/** Calls `onOrphan` once when one of the runs (with `any`: every one) has no process, also one that was paused. The returned function stops the watch. */
export function watchForOrphans(io: Io, api: Api, watched: { ids: string[]; any: boolean; onOrphan(): void }): () => void {
  let isOver = false;
  let isChecking = false;
  const needed = api.server === undefined ? 1 : serverChecks;
  let left = needed;
  const check = async () => {
    if (isChecking || isOver) return;
    isChecking = true;
    try {
      const runs = await Promise.all(watched.ids.map((id) => api.show(id)));
      const orphaned = runs.map(isOrphan);
      if (isOver) return;
      const hasOrphans = watched.any ? orphaned.every(Boolean) : orphaned.some(Boolean);
      if (!hasOrphans) left = needed;
      if (!hasOrphans || --left > 0) return;
      stop();
      watched.onOrphan();
    } catch {
      // The command's own call fails the same way and reports it.
    } finally {
      isChecking = false;
    }
  };
  const stopTimer = io.repeat(checkMs, () => void check());
  const stop = () => {
    isOver = true;
    stopTimer();
  };
  void check();
  return stop;
}

/** A run that waits for a worker is none, nor one that a worker takes when its pause is over. */
function isOrphan({ endedAt, driven, status, queue, pause }: RunDetail): boolean {
  const hasEnd = queue !== undefined && pause !== undefined && pause.until !== null;
  return endedAt === null && !driven && status !== 'queued' && !hasEnd;
}

/** Mentions runs that earlier processes left unfinished: they are resumed only on request. */
export async function reportInterruptedRuns(io: Io, api: Api): Promise<void> {
  const { length } = await api.interrupted();
  if (length === 0) return;
  const runs = length === 1 ? '1 earlier run was interrupted; continue it' : `${length} earlier runs were interrupted; continue them`;
  io.err(`retinue: ${runs} with \`retinue resume\`\n`);
}
