import { type ErrorCode, isRetinueError } from '../contract/error.ts';
import type { OutcomeStatus } from '../contract/outcome.ts';
import { clean } from './clean.ts';
import type { Io } from './io.ts';

export const exitCodes: Record<OutcomeStatus, number> = { completed: 0, failed: 1, exhausted: 3, timed_out: 4, cancelled: 130 };

const usageCodes: ErrorCode[] = [
  ...(['usage', 'invalid_config', 'invalid_rule', 'invalid_limit', 'invalid_brief'] as const),
  ...(['unknown_agent', 'unknown_tool', 'unknown_model', 'unknown_dialect', 'price_unknown'] as const),
];

/** The database could not be opened: the ground is wrong, not the work. */
export class Unopened extends Error {
  constructor(cause: unknown) {
    super('the database could not be opened', { cause });
  }
}

/** Says on standard error what went wrong and gives the exit code for it. */
export function report(error: unknown, io: Pick<Io, 'err' | 'version'>): number {
  if (error instanceof Unopened) {
    const code = report(error.cause, io);
    return isRetinueError(error.cause) && error.cause.code.startsWith('store_') ? 2 : code;
  }
  if (isRetinueError(error) && error.code !== 'internal') {
    io.err(`retinue: ${clean(error.message)}\n`);
    return usageCodes.includes(error.code) ? 2 : 1;
  }
  const text = error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error);
  io.err(`retinue: ${clean(text)}\n`);
  io.err(
    `retinue: this is a fault of Retinue itself. Please report the lines above with \`retinue --version\` (${io.version}) and what you ran.\n`,
  );
  return 1;
}
