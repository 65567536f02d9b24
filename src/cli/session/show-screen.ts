// Shows the full screen until the user leaves it, and says what becomes of the runs.
import type { Api } from '../../api/api.ts';
import { formatPlural, shortId } from '../../views/format.ts';
import type { Io, Stop } from '../io.ts';
import { stopExitCode } from './stop-signals.ts';

/** `attach`: a tree and the run to select in it; null for all live trees. */
export async function showScreen(io: Io, api: Api, attach: { rootId: string; runId: string } | null): Promise<number> {
  const stop = new AbortController();
  let stopped: Stop | null = null;
  const release = io.onInterrupt((why) => {
    if (stopped !== null && why !== 'closed') io.exitNow(stopExitCode(why));
    stopped = why;
    stop.abort();
  });
  try {
    const { live, driven, isInterrupted } = await io.screen(api, { attach, signal: stop.signal });
    if (driven.length > 0) {
      await api.drain('the screen was closed');
      io.err(`retinue: paused: ${driven.map((id) => `continue with \`retinue resume ${shortId(id)}\``).join(', ')}\n`);
    } else if (live > 0)
      io.err(
        `retinue: ${formatPlural(live, 'run')} ${live === 1 ? 'goes' : 'go'} on; \`retinue ${attach ? `attach ${shortId(attach.rootId)}` : 'top'}\` shows ${live === 1 ? 'it' : 'them'} again\n`,
      );
    if (stopped !== null) return stopExitCode(stopped);
    return isInterrupted ? stopExitCode('interrupt') : 0;
  } finally {
    release();
  }
}
