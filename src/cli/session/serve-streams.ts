// What the servers on the standard streams share: `retinue mcp` and `retinue acp`.
import type { Io } from '../io.ts';

/** Clients kill a server that takes longer to exit. */
const forcedExitMs = 5_000;

/** Serves until the client exits or a signal arrives; a second signal exits at once. Returns the exit code. */
export async function serveUntilClosed(io: Io, serve: (ending: { stop: AbortSignal; leaving(): void }) => Promise<void>): Promise<number> {
  const stop = new AbortController();
  const cleanups: (() => void)[] = [];
  cleanups.push(io.onInterrupt((why) => (stop.signal.aborted ? why !== 'closed' && io.exitNow(130) : stop.abort())));
  try {
    await serve({ stop: stop.signal, leaving: () => void cleanups.push(io.repeat(forcedExitMs, () => io.exitNow(1))) });
    return 0;
  } finally {
    for (const cleanup of cleanups) cleanup();
  }
}

/** Settings are loaded more than once, but each of their notices is printed once. */
export function withoutRepeatedMessages(io: Io): Io {
  const printed = new Set<string>();
  const err = (text: string) => {
    if (!printed.has(text)) io.err(text);
    printed.add(text);
  };
  return { ...io, err };
}
