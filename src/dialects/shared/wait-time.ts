// How long a delegation tool waits for runs.
import type { DialectContext } from '../../ports/dialect.ts';

/** Shorter than the 60 s after which MCP clients give up a call. */
const mcpWaitMs = 45_000;

/** A given time, and over MCP at most until just before the client gives up. */
export function limitWaitMs(ms: number, { door }: DialectContext): number {
  return door === 'mcp' ? Math.min(ms, mcpWaitMs) : ms;
}

/** Without a given time a wait lasts until the caller's deadline (null), and over MCP until just before the client gives up. */
export function resolveWaitMs(seconds: number | undefined, { door }: DialectContext): number | null {
  if (seconds !== undefined) return Math.round(seconds * 1000);
  return door === 'mcp' ? mcpWaitMs : null;
}
