// `--effort`: how much the model of a run thinks.
import { type Effort, effortLevels, parseEffort } from '../../contract/effort.ts';
import { RetinueError } from '../../contract/error.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import type { Args, Flag } from './parse-args.ts';

export const effortFlag: Flag = {
  name: 'effort',
  value: 'LEVEL',
  help: `how much the model thinks: ${effortLevels.join(', ')}, or a number of tokens (default: as the model does)`,
};

export function parseEffortFlag(args: Args): Effort | undefined {
  const given = args.value('effort');
  if (given === undefined) return undefined;
  const effort = parseEffort(given);
  if (effort !== null) return effort;
  const problem = /^\d/.test(given)
    ? 'a number of thinking tokens is a whole number from 1 to 1000000'
    : unknownNameMessage('level', given, [...effortLevels]);
  throw new RetinueError('usage', `--effort: ${problem}`);
}
