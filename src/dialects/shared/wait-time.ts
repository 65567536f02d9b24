import { z } from 'zod';
import { maxMs } from '../../contract/limits.ts';
import type { DialectContext } from '../../ports/dialect.ts';

/** Clients of MCP give a call up after 60 s, so that it has to answer before. */
const mcpWaitMs = 45_000;

export const seconds = z
  .number()
  .min(0)
  .max(Math.floor(maxMs / 1000));

/** Left out, a wait lasts as long as the caller's own deadline (null), over MCP as long as clients are patient. */
export function waitMs(given: number | undefined, { door }: DialectContext): number | null {
  if (given !== undefined) return Math.round(given * 1000);
  return door === 'mcp' ? mcpWaitMs : null;
}
