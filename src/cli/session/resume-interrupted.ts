// Continues interrupted trees in the background while a server runs: at its start all of them, later those whose process died. A tree that another
// process left paused meanwhile, such as that of an MCP client that disconnected, waits for the user.
import type { Api } from '../../api/api.ts';
import { isRetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { shortId } from '../../views/format.ts';
import type { Io } from '../io.ts';

/** A dead process sends no signal. One look is one short query. */
const checkMs = 10_000;

export function keepResuming(io: Pick<Io, 'err' | 'repeat'>, api: Api): { end(): void } {
  /** Trees that could not be resumed are tried once. */
  const failed = new Set<string>();
  let isFirst = true;
  let isChecking = false;
  let isEnded = false;

  const report = (line: string) => io.err(`retinue: ${sanitizeLine(line)}\n`);

  async function check(): Promise<void> {
    if (isChecking || isEnded) return;
    isChecking = true;
    try {
      const trees = (await api.interrupted()).filter(({ rootId, paused }) => !failed.has(rootId) && (isFirst || !paused));
      isFirst = false;
      await Promise.all(trees.map(({ rootId }) => resumeTree(rootId)));
    } catch (error) {
      report(`could not look for interrupted runs: ${describe(error)}`);
    } finally {
      isChecking = false;
    }
  }

  async function resumeTree(rootId: string): Promise<void> {
    try {
      const handles = await api.resume(rootId, { patient: true });
      for (const { outcome } of handles) outcome.catch(() => {});
      if (handles.length > 0) report(`continuing the interrupted run ${shortId(rootId)}`);
    } catch (error) {
      // Another process was faster.
      if (isEnded || (isRetinueError(error) && error.code === 'fenced')) return;
      failed.add(rootId);
      report(`the interrupted run ${shortId(rootId)} cannot be continued: ${describe(error)}`);
    }
  }

  void check();
  const endTimer = io.repeat(checkMs, () => void check());
  return {
    end() {
      isEnded = true;
      endTimer();
    },
  };
}

function describe(error: unknown): string {
  return isRetinueError(error) ? error.message : String((error as Error)?.message ?? error);
}
