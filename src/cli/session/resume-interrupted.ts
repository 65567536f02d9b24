// Continues interrupted trees in the background while a server runs: at its start, and when the process of a tree dies later. A pause that somebody
// ordered stays; a pause that only says that a process was stopped ends.
import type { Api } from '../../api/api.ts';
import { isRetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { shortId } from '../../views/format.ts';
import type { Io } from '../io.ts';
import { stopReasons } from './stop-signals.ts';

/** A dead process sends no signal, so this is how long its trees wait. One look is one short query. */
const checkMs = 10_000;
/** A tree that ends the server each time must not do so for ever. */
const maxTakeovers = 3;

export function keepResuming(io: Pick<Io, 'err' | 'repeat'>, api: Api): { end(): Promise<void> } {
  /** Trees that are left alone: they cannot be resumed, or somebody paused them. With the number of their open runs. */
  const skipped = new Map<string, number>();
  let current: Promise<void> | null = null;
  let isEnded = false;

  const report = (line: string) => io.err(`retinue: ${sanitizeLine(line)}\n`);

  async function check(): Promise<void> {
    try {
      const trees = (await api.interrupted()).filter(({ rootId, open }) => skipped.get(rootId) !== open);
      await Promise.all(trees.map(({ rootId, open }) => resumeTree(rootId, open)));
    } catch (error) {
      report(`could not look for interrupted runs: ${describe(error)}`);
    }
  }

  async function resumeTree(rootId: string, open: number): Promise<void> {
    try {
      if (isEnded) return;
      if (await isHeld(api, rootId)) return void skipped.set(rootId, open);
      const handles = await api.resume(rootId, { patient: true, keeps: isOrdered, maxTakeovers });
      for (const { outcome } of handles) outcome.catch(() => {});
      if (handles.length > 0) report(`continuing the interrupted run ${shortId(rootId)}`);
    } catch (error) {
      // The server stops, another process was faster, or another tree is to be tried first.
      if (isEnded || (isRetinueError(error) && (error.code === 'fenced' || error.code === 'crashed'))) return;
      skipped.set(rootId, open);
      report(`the interrupted run ${shortId(rootId)} cannot be continued: ${describe(error)}`);
    }
  }

  function start(): void {
    current ??= check().finally(() => {
      current = null;
    });
  }

  start();
  const endTimer = io.repeat(checkMs, start);
  return {
    async end() {
      isEnded = true;
      endTimer();
      await current;
    },
  };
}

function isOrdered(reason: string): boolean {
  return reason !== stopReasons.terminate;
}

/** Whether the whole tree is paused, and no pause says that a process was stopped or ends later. */
async function isHeld(api: Api, rootId: string): Promise<boolean> {
  if ((await api.show(rootId)).status !== 'paused') return false;
  const { runs } = await api.tree(rootId);
  return !runs.some((run) => run.status === 'paused' && (run.resumesItself || !isOrdered(run.activity)));
}

function describe(error: unknown): string {
  return isRetinueError(error) ? error.message : String((error as Error)?.message ?? error);
}
