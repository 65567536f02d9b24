// Errors as messages and exit codes.
import { isRemoteError } from '../client/error.ts';
import { type ErrorCode, type ErrorOption, isRetinueError, type RetinueError } from '../contract/error.ts';
import type { OutcomeStatus } from '../contract/outcome.ts';
import { sanitizeText } from '../text/terminal.ts';
import type { Io } from './io.ts';

export const exitCodes: Record<OutcomeStatus, number> = { completed: 0, failed: 1, exhausted: 3, timed_out: 4, cancelled: 130 };

/** Errors that the user corrects in the arguments or the configuration: exit code 2. */
const usageErrors: ErrorCode[] = [
  ...(['usage', 'invalid_config', 'invalid_rule', 'invalid_limit', 'invalid_brief', 'key_conflict'] as const),
  ...(['unknown_agent', 'unknown_tool', 'unknown_model', 'unknown_dialect', 'unknown_budget', 'price_unknown'] as const),
];

/** A store error while opening the database is an error of the setup, so its exit code is 2 instead of 1. */
export class DatabaseOpenError extends Error {
  constructor(cause: unknown) {
    super('the database could not be opened', { cause });
  }
}

/** Prints the error on standard error and returns the exit code. */
export function reportError(error: unknown, io: Pick<Io, 'err' | 'version'>): number {
  if (error instanceof DatabaseOpenError) {
    const code = reportError(error.cause, io);
    return isRetinueError(error.cause) && error.cause.code.startsWith('store_') ? 2 : code;
  }
  if (isDiskFull(error)) {
    io.err(`retinue: the disk is full: ${sanitizeText((error as Error).message)}; free some disk space and try again\n`);
    return 1;
  }
  // An internal error of a server is no bug of this process.
  if (isRetinueError(error) && (error.code !== 'internal' || isRemoteError(error))) {
    io.err(`retinue: ${sanitizeText(error.message)}${flagAdvice(error)}${tokenAdvice(error)}\n`);
    return usageErrors.includes(error.code) ? 2 : 1;
  }
  const text = error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error);
  io.err(`retinue: ${sanitizeText(text)}\n`);
  io.err(
    `retinue: this is a bug in Retinue (version ${io.version}). Please report it with the lines above and the command that you ran.\n`,
  );
  return 1;
}

const flags: Record<ErrorOption, string> = {
  adopt: '--adopt',
  all: '--all',
  live: '--live',
  maxCostUsd: '--budget-usd',
  unfinished: '--unfinished',
};

/** The flag of the option that the error names. */
function flagAdvice({ option }: RetinueError): string {
  return option === undefined ? '' : ` (\`${flags[option]}\`)`;
}

/** What to do if a server refused the token. */
function tokenAdvice(error: unknown): string {
  if ((error as { status?: number }).status !== 401) return '';
  return '; give the token that `retinue serve` printed, or one of its token file, in RETINUE_TOKEN or with --token-file';
}

/** Whether a file could not be written for lack of space. Errors of the database say so themselves. */
function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error) || (isRetinueError(error) && error.code.startsWith('store_'))) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' || isDiskFull(error.cause);
}
