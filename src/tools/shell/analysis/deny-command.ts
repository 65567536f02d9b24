// The error for commands that cannot be analysed.
import { RetinueError } from '../../../contract/error.ts';

/** Denies a command that no rule may allow, because its effect cannot be determined. */
export function denyCommand(what: string, advice: string): never {
  throw new RetinueError('denied', `the command ${what}; ${advice}`);
}

export const writeSimpler = 'write it as several simpler commands';
