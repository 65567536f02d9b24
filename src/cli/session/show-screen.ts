// Shows the full screen until the user leaves it, and says what becomes of the runs.
import type { Api } from '../../api/api.ts';
import { formatPlural, shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import type { Io, ScreenRequest, Stop } from '../io.ts';
import { stopExitCode } from './stop-signals.ts';

/** Whether there is a terminal that can show it and nothing asks for text instead. */
export function canShowScreen(io: Io, args: Args): boolean {
  return io.interactive && io.outTTY && io.errTTY && !args.has('json') && !args.has('plain');
}

/** Returns the exit code. Trees that this process drives are paused when the user leaves. */
export async function showScreen(io: Io, api: Api, request: Omit<ScreenRequest, 'signal'>): Promise<number> {
  const stop = new AbortController();
  let stopped: Stop | null = null;
  const release = io.onInterrupt((why) => {
    if (stopped !== null && why !== 'closed') io.exitNow(stopExitCode(why));
    stopped = why;
    stop.abort();
  });
  try {
    const { live, driven, isInterrupted } = await io.screen(api, { ...request, signal: stop.signal });
    if (driven.length > 0) {
      await api.drain('the screen was closed');
      io.err(`retinue: paused: ${driven.map((id) => `continue with \`retinue resume ${shortId(id)}\``).join(', ')}\n`);
    } else if (live > 0) io.err(`retinue: ${describeLive(live, request.attach?.rootId)}\n`);
    if (stopped !== null) return stopExitCode(stopped);
    return isInterrupted ? stopExitCode('interrupt') : 0;
  } finally {
    release();
  }
}

function describeLive(live: number, rootId: string | undefined): string {
  const command = rootId === undefined ? 'top' : `attach ${shortId(rootId)}`;
  return `${formatPlural(live, 'run')} ${live === 1 ? 'continues' : 'continue'}; \`retinue ${command}\` shows ${live === 1 ? 'it' : 'them'} again`;
}
