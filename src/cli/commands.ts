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

const many = Number.POSITIVE_INFINITY;

export const help: Flag = { name: 'help', short: 'h', help: 'show this help' };
const json: Flag = { name: 'json', help: 'print one JSON value on standard output' };
const plain: Flag = { name: 'plain', help: 'a line per event instead of live lines' };

/** The ground every command stands on. */
const ground: Flag[] = [
  { name: 'workspace', short: 'C', value: 'DIR', help: 'the workspace (default: the current directory)' },
  { name: 'db', value: 'FILE', help: 'the database (default: .retinue/retinue.db of the workspace)' },
  { name: 'config', value: 'FILE', help: 'a configuration to use instead of the workspace’s retinue.config.json' },
];

const runFlags: Flag[] = [
  { name: 'agent', value: 'NAME', help: 'the agent that does it (default: general; `retinue agents` lists them)' },
  { name: 'model', value: 'NAME', help: 'the model, as `provider/model`' },
  { name: 'label', value: 'TEXT', help: 'a short name to show for the run' },
  { name: 'file', value: 'PATH', many: true, help: 'a file of the workspace to put into the first message' },
  { name: 'context', value: 'TEXT', help: 'what the agent should know besides the task' },
  { name: 'tools', value: 'A,B', help: 'only these tools (empty: none)' },
  { name: 'allow', value: 'RULE', many: true, help: 'allow calls, as `tool` or `tool:pattern`' },
  { name: 'deny', value: 'RULE', many: true, help: 'deny calls; of --allow and --deny the last match counts' },
  { name: 'max-turns', value: 'N', help: 'model calls with their tools, 1 to 500 (default: 40)' },
  { name: 'timeout', value: 'TIME', help: '`90s`, `10m`, `1h`; a bare number is seconds (default: 30m)' },
  { name: 'budget-usd', value: 'USD', help: 'money for the whole tree (default: 5)' },
  { name: 'budget-tokens', value: 'N', help: 'tokens for the whole tree (default: 2000000)' },
  { name: 'output-schema', value: 'FILE', help: 'a JSON Schema that the result must fit' },
  { name: 'stream-json', help: 'print facts as JSON Lines on standard output as they come' },
];

export const commands: Command[] = [
  {
    name: 'run',
    group: 'run',
    usage: '[flags] TASK…',
    summary: 'hand a task to an agent and wait for its outcome',
    about:
      'The summary goes to standard output, progress to standard error. `-` among the words reads more from standard input. `retinue "task"` is the same as `retinue run "task"`. Ctrl-C cancels the tree and prints what there is; a second one leaves at once.',
    flags: [...runFlags, json, plain, ...ground],
    words: { min: 0, max: many },
    examples: [
      ['retinue run "explain the build" --agent explore', 'read only'],
      ['git diff | retinue run "review this" -', 'the diff comes from standard input'],
      ['retinue run "fix the failing test" --allow "bash:npm test*" --timeout 10m', 'one more right, less time'],
      ['retinue run "list the endpoints" --output-schema api.json --json | jq .data', 'a result of a given form'],
    ],
    exits: 'outcome',
    load: () => import('./commands/run.ts'),
  },
  {
    name: 'demo',
    group: 'run',
    usage: '[flags]',
    summary: 'watch a scripted model fan out to four children, without a key or network',
    about: 'Reads the files of Retinue’s own package and changes nothing in them.',
    flags: [json, plain],
    words: { min: 0, max: 0 },
    examples: [['retinue demo', 'live lines of five runs']],
    exits: 'outcome',
    load: () => import('./commands/demo.ts'),
  },
  {
    name: 'agents',
    group: 'run',
    usage: '[flags]',
    summary: 'list the agents there are',
    about: 'Each with its tools, what it is for and where it is defined.',
    flags: [json, ...ground],
    words: { min: 0, max: 0 },
    examples: [['retinue agents', 'names for --agent']],
    exits: 'work',
    load: () => import('./commands/agents.ts'),
  },
  {
    name: 'config',
    group: 'run',
    usage: '[flags]',
    summary: 'show the configuration in force and where each value came from',
    about: 'Also says what of the workspace’s file is left out because the workspace is not trusted.',
    flags: [json, ...ground],
    words: { min: 0, max: 0 },
    examples: [['retinue config', 'every value with its file, variable or flag']],
    exits: 'work',
    load: () => import('./commands/config.ts'),
  },
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
    load: () => import('./commands/ps.ts'),
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
    load: () => import('./commands/show.ts'),
  },
  {
    name: 'logs',
    group: 'watch',
    usage: 'ID [-f] [--tree] [flags]',
    summary: 'print the facts of a run',
    about: 'ID is an id, its unique beginning, or `last`. With --json an array of facts; with -f --json one fact per line, as they come.',
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
    load: () => import('./commands/logs.ts'),
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
    load: () => import('./commands/wait.ts'),
  },
  {
    name: 'cancel',
    group: 'steer',
    usage: 'ID… [--reason TEXT] [flags]',
    summary: 'end runs and everything below them',
    about: 'Returns when the request is in the journal. A run that no process drives is ended here.',
    flags: [{ name: 'reason', value: 'TEXT', help: 'kept in the facts' }, json, ...ground],
    words: { min: 1, max: many },
    examples: [['retinue cancel last --reason "wrong branch"', 'the newest run']],
    exits: 'work',
    load: () => import('./commands/cancel.ts'),
  },
  {
    name: 'message',
    group: 'steer',
    usage: 'ID TEXT… [flags]',
    summary: 'steer a live run, or ask a finished one a follow-up',
    about:
      'A live run reads the text at its next turn. A finished one goes on with its context in a new run, which is then shown like `run` and decides the exit code.',
    flags: [json, plain, ...ground],
    words: { min: 2, max: many },
    examples: [['retinue message last "also look at the tests"', '']],
    exits: 'work',
    load: () => import('./commands/message.ts'),
  },
];

/** Words that will be commands one day: a task of that one word would be a surprise. */
export const reserved = [
  ...['top', 'pause', 'resume', 'replay', 'fork', 'verify', 'export', 'rm', 'gc', 'dialects', 'memory', 'approve', 'refuse'],
  ...['policy', 'trust', 'doctor', 'mcp', 'serve', 'subagent'],
];
