import type { Args, Flag } from './flags.ts';
import type { Io } from './io.ts';

export const groups = ['run', 'watch', 'steer', 'prove', 'serve'] as const;

export interface Command {
  name: string;
  group: (typeof groups)[number];
  /** What stands behind the name. */
  usage: string;
  summary: string;
  /** A paragraph or two for the command's own help. */
  about: string;
  flags: Flag[];
  /** How many words it takes: none, so many, or at least so many. */
  words: { min: number; max: number };
  examples: [command: string, what: string][];
  /** Whether the outcome of a run decides the exit code. */
  exits: 'outcome' | 'work';
  load(): Promise<{ run(args: Args, io: Io): Promise<number> }>;
}

export const many = Number.POSITIVE_INFINITY;

export const help: Flag = { name: 'help', short: 'h', help: 'show this help' };
export const json: Flag = { name: 'json', help: 'print one JSON value on standard output' };
export const plain: Flag = { name: 'plain', help: 'a line per event instead of live lines' };
export const ask: Flag = {
  name: 'ask',
  value: 'TIME',
  help: 'how long a call that a rule asks about waits for an answer (on a terminal 10m; elsewhere, without this, it is denied)',
};

export const sandbox: Flag = {
  name: 'sandbox',
  value: 'MODE',
  help: '`required`, `auto` or `off`: whether shell commands run in a sandbox (default: auto)',
};

/** The ground every command stands on. */
export const ground: Flag[] = [
  { name: 'workspace', short: 'C', value: 'DIR', help: 'the workspace (default: the current directory)' },
  { name: 'db', value: 'FILE', help: 'the database (default: .retinue/retinue.db of the workspace)' },
  { name: 'config', value: 'FILE', help: 'a configuration to use instead of the workspace’s retinue.config.json' },
];
