import type { Args } from '../args/parse-args.ts';
import { type Command, jsonFlag, serverFlags, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { sendAnswer } from './approve.ts';

export const refuseCommand: Command = {
  name: 'refuse',
  group: 'control',
  usage: 'ID [REASON…] [flags]',
  summary: 'refuse a tool call that waits for approval',
  about: 'The model reads the refusal with your reason, and the run continues.',
  flags: [jsonFlag, ...writingFlags, ...serverFlags],
  positionals: { min: 1, max: unlimited },
  examples: [['retinue refuse 3f2a91c0 "push to a branch instead"', 'the one call that this run waits for']],
  exitCodes: 'command',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [id, ...reason] = args.positionals as [string, ...string[]];
  return sendAnswer(args, io, { id, answer: { allowed: false, ...(reason.length === 0 ? {} : { reason: reason.join(' ') }) } });
}
