import { type Command, ground, json, many } from '../command.ts';

export const watchCommands: Command[] = [
  {
    name: 'ps',
    group: 'watch',
    usage: '[--all] [flags]',
    summary: 'list live runs, of all processes',
    about: 'With --all every run, newest first. `interrupted` is a run whose process is gone.',
    flags: [{ name: 'all', short: 'a', help: 'ended runs too, newest first' }, json, ...ground],
    words: { min: 0, max: 0 },
    examples: [
      ['retinue ps', 'what runs now'],
      ['retinue ps --all --json | jq ".[0].status"', 'how the newest run stands'],
    ],
    exits: 'work',
    load: () => import('../commands/ps.ts'),
  },
  {
    name: 'show',
    group: 'watch',
    usage: 'ID [flags]',
    summary: 'show one run: brief, grant, outcome and children',
    about: 'ID is an id, its unique beginning, or `last` for the newest run.',
    flags: [json, ...ground],
    words: { min: 1, max: 1 },
    examples: [['retinue show last', 'the newest run']],
    exits: 'work',
    load: () => import('../commands/show.ts'),
  },
  {
    name: 'logs',
    group: 'watch',
    usage: 'ID [-f] [--tree] [flags]',
    summary: 'print the facts of a run',
    about:
      'ID is an id, its unique beginning, or `last`. With --json an array of facts; with -f --json one fact per line, as they come. Where the run’s dialect has an activity log of its own, its entries stand below the facts they belong to.',
    flags: [
      { name: 'follow', short: 'f', help: 'go on until the run has ended' },
      { name: 'tree', help: 'the facts of its descendants too' },
      json,
      ...ground,
    ],
    words: { min: 1, max: 1 },
    examples: [
      ['retinue logs last -f --tree', 'from a second terminal'],
      ['retinue logs last --json | jq ".[].type"', 'what happened, in order'],
    ],
    exits: 'work',
    load: () => import('../commands/logs.ts'),
  },
  {
    name: 'wait',
    group: 'watch',
    usage: 'ID… [--any] [--timeout TIME] [flags]',
    summary: 'wait until runs have ended',
    about:
      'The exit code is that of the first run, in the order given, that did not complete. --json prints an array of outcomes in that order, null for runs that have not ended.',
    flags: [
      { name: 'any', help: 'until one of them has ended' },
      { name: 'timeout', value: 'TIME', help: 'give up after `90s`, `10m`, …; the runs go on and the exit code is 4' },
      json,
      ...ground,
    ],
    words: { min: 1, max: many },
    examples: [['retinue wait 7f3a 91bc --any --timeout 5m', 'the first of two']],
    exits: 'outcome',
    load: () => import('../commands/wait.ts'),
  },
];
