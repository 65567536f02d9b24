import { RetinueError } from '../../contract/error.ts';
import type { Io } from '../io.ts';

/** Anything but `y` or `yes` is a no. Throws `usage` without a terminal. */
export async function confirm(io: Pick<Io, 'ask'>, question: string): Promise<boolean> {
  const answer = await io.ask(`${question} [y/N] `);
  if (answer === null)
    throw new RetinueError('usage', 'cannot ask for confirmation without a terminal; run this in a terminal, or add --yes');
  return /^y(es)?$/i.test(answer.trim());
}
