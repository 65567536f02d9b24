import type { Api } from '../api/api.ts';
import type { Io } from './io.ts';

export const goneText =
  'will not end by itself: the process that drove it is gone; `retinue resume` goes on with it, `retinue cancel` ends it';

const everyMs = 2000;

/**
 * A run whose process is gone, also one that it left paused, never ends by itself, so nobody should wait for it. Looks now and again, and calls `gone` once when one of
 * the runs (with `any`: every one) is such a run. The returned function ends the looking.
 */
export function lookForGone(io: Io, api: Api, watched: { ids: string[]; any: boolean; gone(): void }): () => void {
  let over = false;
  let looking = false;
  const look = async () => {
    if (looking || over) return;
    looking = true;
    try {
      const runs = await Promise.all(watched.ids.map((id) => api.show(id)));
      const gone = runs.map((run) => run.endedAt === null && !run.driven);
      if (over || !(watched.any ? gone.every(Boolean) : gone.some(Boolean))) return;
      end();
      watched.gone();
    } catch {
      // The command's own call meets the same trouble and reports it.
    } finally {
      looking = false;
    }
  };
  const stop = io.repeat(everyMs, () => void look());
  const end = () => {
    over = true;
    stop();
  };
  void look();
  return end;
}

/** Says once that earlier processes left something unfinished; nobody goes on with it unasked. */
export async function hintInterrupted(io: Io, api: Api): Promise<void> {
  const left = (await api.interrupted()).length;
  if (left === 0) return;
  const what = left === 1 ? '1 interrupted run of an earlier process' : `${left} interrupted runs of earlier processes`;
  io.err(`retinue: ${what}: \`retinue resume\` goes on with ${left === 1 ? 'it' : 'them'}\n`);
}
