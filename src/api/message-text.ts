// What a message to a run may be, the same for every front-end.
import { RetinueError } from '../contract/error.ts';
import { maxTaskBytes } from '../contract/task-size.ts';

/** The text without space at its ends. Throws `invalid_brief`. `isFollowUp`: it is the task of a new run. */
export function parseMessage(given: string, { rules, isFollowUp }: { rules: readonly string[]; isFollowUp: boolean }): string {
  const text = given.toWellFormed().trim();
  if (text === '' && isFollowUp)
    throw new RetinueError(
      'invalid_brief',
      'text: must not be empty: the run has ended, and the message is the task of the run that continues it',
    );
  if (text === '' && rules.length === 0) throw new RetinueError('invalid_brief', 'text: must not be empty; only rules need no text');
  const bytes = Buffer.byteLength(text);
  if (bytes > maxTaskBytes)
    throw new RetinueError(
      'invalid_brief',
      `text: has ${bytes} bytes, and at most ${maxTaskBytes} are possible; put long material into a file that the run can read`,
    );
  return text;
}
