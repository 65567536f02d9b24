// What a command is, and the flags that several commands share. A command is one file in commands/ and one entry in commands.ts.
import { formatFlagDuration } from './args/flag-values.ts';
import type { Args, Flag } from './args/parse-args.ts';
import { defaultQuestionMs } from './args/settings-flags.ts';
import type { Io } from './io.ts';

/** Groups of the overview, in its order. */
export const groups = ['run', 'watch', 'control', 'setup', 'records', 'integrate'] as const;

export interface Command {
  name: string;
  /** Other names that people try, where each can mean only this command. */
  aliases?: string[];
  group: (typeof groups)[number];
  /** Arguments after the name, for the usage line. */
  usage: string;
  summary: string;
  /** A paragraph or two for the command's own help. */
  about: string;
  flags: Flag[];
  /** How many positional arguments it accepts. */
  positionals: { min: number; max: number };
  examples: [command: string, explanation: string][];
  /**
   * `outcome`: the outcome of a run decides the exit code. `command`: success or failure of the command itself. `watch`: the same, for a command
   * that takes its time and can be interrupted. `either`: the command itself, or the outcome of a run that it starts.
   */
  exitCodes: 'outcome' | 'command' | 'watch' | 'either';
  /**
   * Whether it starts runs, gives orders, or changes records or settings: it acts for the user then, so it is refused in a process that a run
   * has started.
   */
  changes: boolean | ((args: Args) => boolean);
  /** The exit code. Dependencies that are slow to load are imported inside: every command is loaded at every start. */
  run(args: Args, io: Io): Promise<number>;
}

export const unlimited = Number.POSITIVE_INFINITY;

export const helpFlag: Flag = { name: 'help', short: 'h', help: 'show this help' };
export const jsonFlag: Flag = { name: 'json', help: 'print one JSON value on standard output' };
export const plainFlag: Flag = { name: 'plain', help: 'print one line per event instead of a live display' };
export const ruleFlags: Flag[] = [
  { name: 'allow', value: 'RULE', repeatable: true, help: 'allow tool calls, as `tool` or `tool:pattern`' },
  { name: 'deny', value: 'RULE', repeatable: true, help: 'deny tool calls; the last matching --allow or --deny decides' },
];
export const yesFlag: Flag = { name: 'yes', short: 'y', help: 'do not ask for confirmation' };
export const streamFlag: Flag = { name: 'stream-json', help: 'print each event as one line of JSON on standard output' };

export const askFlag: Flag = {
  name: 'ask',
  value: 'TIME',
  help: `how long a call that needs approval waits for an answer (default: ${formatFlagDuration(defaultQuestionMs)} on a terminal; elsewhere such calls are denied)`,
};

export const budgetFlag: Flag = {
  name: 'budget',
  value: 'NAME',
  repeatable: true,
  help: 'draw from this shared budget too (see `retinue budget`)',
};

/** Tools may read there; nothing may write there. */
export const addDirFlag: Flag = {
  name: 'add-dir',
  value: 'DIR',
  repeatable: true,
  help: 'let tools and commands also read this folder outside the workspace',
};

export const sandboxFlag: Flag = {
  name: 'sandbox',
  value: 'MODE',
  help: 'whether shell commands run in a sandbox: `required`, `auto` or `off` (default: auto)',
};

export const workspaceFlag: Flag = {
  name: 'workspace',
  short: 'C',
  value: 'DIR',
  help: 'the folder to work in (default: the git repository around the current folder, otherwise the current folder)',
};

/** Flags of every command that reads settings. */
export const commonFlags: Flag[] = [
  workspaceFlag,
  { name: 'db', value: 'FILE|URL', help: 'the database: a file, or postgres://… (default: .retinue/retinue.db in the workspace)' },
  { name: 'config', value: 'FILE', help: 'the configuration file (default: retinue.config.json in the workspace)' },
];

/** Flags of every command that also works with the runs of a server. */
export const serverFlags: Flag[] = [
  {
    name: 'server',
    value: 'URL',
    help: 'use the runs of this `retinue serve` instead of those of this machine (default: RETINUE_SERVER); the token comes from RETINUE_TOKEN; -C then names a workspace of the server',
  },
  { name: 'token-file', value: 'FILE', help: 'read the token for the server from this file: the first one in it' },
  { name: 'insecure-http', help: 'send the token unencrypted to an http:// address of another machine' },
];

/** Flags of every command that writes to the database. */
export const writingFlags: Flag[] = [
  { name: 'adopt', help: 'accept a database that you did not create on this machine, or runs that another program changed' },
  ...commonFlags,
];
