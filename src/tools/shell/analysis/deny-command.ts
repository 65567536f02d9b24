import { RetinueError } from '../../../contract/error.ts';

/** Ends the judging of a command that no rule may allow, because what it would do cannot be told. */
export function refuse(what: string, instead: string): never {
  throw new RetinueError('denied', `the command ${what}; ${instead}`);
}
