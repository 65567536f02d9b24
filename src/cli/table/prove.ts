import { type Command, ground, json } from '../command.ts';

export const proveCommands: Command[] = [
  {
    name: 'replay',
    group: 'prove',
    usage: 'ID [flags]',
    summary: 'make every decision of a run again from its facts, and compare',
    about:
      'Nothing outside is called: no model, no tool, no file, no clock. Every request must come out with the same hash and the outcome byte for byte the same, for the run and everything below it. A difference stops at the first fact that differs and shows both sides; the exit code is 1 then.',
    flags: [json, ...ground],
    words: { min: 1, max: 1 },
    examples: [['retinue replay last', 'the newest run and its children']],
    exits: 'work',
    load: () => import('../commands/replay.ts'),
  },
  {
    name: 'verify',
    group: 'prove',
    usage: '[ID] [flags]',
    summary: 'check that no stored fact was changed or lost',
    about:
      'Every fact carries a hash over itself and the one before it, and a parent’s facts carry the hashes of its children, so a root’s last hash covers its tree. Without an ID all runs. Names the first broken fact of each run; the exit code is 1 then.',
    flags: [json, ...ground],
    words: { min: 0, max: 1 },
    examples: [['retinue verify', 'everything in the database']],
    exits: 'work',
    load: () => import('../commands/verify.ts'),
  },
];
