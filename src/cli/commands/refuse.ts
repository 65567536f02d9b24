import type { Args } from '../flags.ts';
import type { Io } from '../io.ts';
import { answer } from './approve.ts';

export async function run(args: Args, io: Io): Promise<number> {
  const [word, ...reason] = args.words as [string, ...string[]];
  return answer(args, io, word, { allowed: false, ...(reason.length === 0 ? {} : { reason: reason.join(' ') }) });
}
