import { type Command, ground, json, many } from '../command.ts';

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
  {
    name: 'export',
    group: 'prove',
    usage: 'ID [--output FILE] [flags]',
    summary: 'write the tree of a run as one JSON Lines file',
    about:
      'The root of the run and everything below it: a header, the texts that facts point to, and the facts as they are stored, so that their hashes hold elsewhere. To standard output unless --output names a file that is not there yet. What the runs read and said is in it; secrets were taken out before they were stored.',
    flags: [
      { name: 'output', short: 'o', value: 'FILE', help: 'a new file instead of standard output' },
      { name: 'live', help: 'what is there now of a tree that a process still drives' },
      json,
      ...ground,
    ],
    words: { min: 1, max: 1 },
    examples: [
      ['retinue export last -o run.jsonl', 'for another machine, or to keep'],
      ['retinue export last | gzip > run.jsonl.gz', ''],
    ],
    exits: 'work',
    load: () => import('../commands/export.ts'),
  },
  {
    name: 'import',
    group: 'prove',
    usage: 'FILE|- [flags]',
    summary: 'read an exported tree into this workspace’s database',
    about:
      'Every line is checked against its schema, every text and fact against its hash, and the whole against the header, before anything is written; then all of it is, or nothing. The same tree again changes nothing. A run that is here already with other facts is refused. `verify`, `replay`, `show` and `logs` work on it as on any other.',
    flags: [
      { name: 'unfinished', help: 'also a tree that has not ended: resumed, it has the rights that the file records' },
      json,
      ...ground,
    ],
    words: { min: 1, max: 1 },
    examples: [
      ['retinue import run.jsonl', ''],
      ['ssh host retinue -C work export last | retinue import -', 'from another machine'],
    ],
    exits: 'work',
    load: () => import('../commands/import.ts'),
  },
  {
    name: 'rm',
    group: 'prove',
    usage: 'ID… [--yes] [flags]',
    summary: 'erase what ended runs said, and keep the hashes',
    about:
      'ID is a root: it is erased with everything below it, and so are the texts that only it pointed to, its scratchpad and its log. Of each fact its number, moment, type and hash stay, so that `verify` still holds. A tree that has not ended is refused; cancel it first. There is no way back.',
    flags: [{ name: 'yes', short: 'y', help: 'do not ask; needed where there is no terminal' }, json, ...ground],
    words: { min: 1, max: many },
    examples: [['retinue rm 7f3a', 'asks first']],
    exits: 'work',
    load: () => import('../commands/rm.ts'),
  },
  {
    name: 'gc',
    group: 'prove',
    usage: '--older-than AGE [--dry-run] [flags]',
    summary: 'erase what runs said that ended long ago',
    about: 'Does what `rm` does, without asking, with every tree that ended longer ago than AGE (`12h`, `30d`, `8w`).',
    flags: [
      { name: 'older-than', value: 'AGE', help: 'how long ago they ended, at least' },
      { name: 'dry-run', help: 'only print what it would free' },
      json,
      ...ground,
    ],
    words: { min: 0, max: 0 },
    examples: [['retinue gc --older-than 30d --dry-run', 'look first']],
    exits: 'work',
    load: () => import('../commands/gc.ts'),
  },
];
