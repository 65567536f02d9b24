// Shows what runs do, whichever process drives them: first their state so far, then each new fact.
import type { Api } from '../../api/api.ts';
import type { Progress } from '../progress/progress.ts';

/** Brings the display to the current state of a run and its descendants. Returns the position of the last fact; undefined if there is none. */
export async function catchUp(api: Api, id: string, progress: Progress): Promise<string | undefined> {
  let last: string | undefined;
  for (const fact of await api.logs(id, { tree: true })) {
    if ('erased' in fact) continue;
    progress.catchUp(fact);
    last = fact.position;
  }
  return last;
}

/** Shows runs until each of them has ended, or until the signal fires. Runs may be part of each other's trees. */
export async function showRuns(api: Api, ids: string[], { progress, signal }: { progress: Progress; signal: AbortSignal }): Promise<void> {
  const shown = new Set<string>();
  await Promise.all(
    ids.map(async (id) => {
      const last = await catchUp(api, id, progress);
      let isNew = last === undefined;
      for await (const fact of api.follow(id, { tree: true, signal })) {
        const key = `${fact.runId} ${fact.seq}`;
        if (isNew && !shown.has(key)) progress.handleEvent(fact);
        shown.add(key);
        isNew ||= fact.position === last;
      }
    }),
  );
}
