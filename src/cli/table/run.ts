import { type Command, ground, json, many, plain } from '../command.ts';
import type { Flag } from '../flags.ts';

const runFlags: Flag[] = [
  { name: 'agent', value: 'NAME', help: 'the agent that does it (default: general; `retinue agents` lists them)' },
  { name: 'model', value: 'NAME', help: 'the model, as `provider/model`' },
  { name: 'dialect', value: 'NAME', help: 'the delegation tools the agent gets (default: native; `retinue dialects` lists them)' },
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
  { name: 'detach', short: 'd', help: 'run in a background process, print the run’s id and return' },
  { name: 'stream-json', help: 'print facts as JSON Lines on standard output as they come' },
];

export const runCommands: Command[] = [
  {
    name: 'run',
    group: 'run',
    usage: '[flags] TASK…',
    summary: 'hand a task to an agent and wait for its outcome',
    about:
      'The summary goes to standard output, progress to standard error. `-` among the words reads more from standard input. `retinue "task"` is the same as `retinue run "task"`. Ctrl-C cancels the tree and prints what there is; a second one leaves at once. With --detach the run goes on in a process of its own that ends with it; `logs -f`, `wait` and `cancel` work on it.',
    flags: [...runFlags, json, plain, ...ground],
    words: { min: 0, max: many },
    examples: [
      ['retinue run "explain the build" --agent explore', 'read only'],
      ['git diff | retinue run "review this" -', 'the diff comes from standard input'],
      ['retinue run "fix the failing test" --allow "bash:npm test*" --timeout 10m', 'one more right, less time'],
      ['retinue wait $(retinue run --detach "survey the tests")', 'in the background, and its outcome later'],
      ['retinue run "list the endpoints" --output-schema api.json --json | jq .data', 'a result of a given form'],
    ],
    exits: 'outcome',
    load: () => import('../commands/run.ts'),
  },
  {
    name: 'demo',
    group: 'run',
    usage: '[NAME] [flags]',
    summary: 'watch a survey of this folder: one child for each part of it, without a key or network',
    about: 'NAME: survey (default), or fan-out, where a scripted model delegates to four children over the files of Retinue itself.',
    flags: [json, plain],
    words: { min: 0, max: 1 },
    examples: [
      ['retinue demo', 'live lines of the survey, and then its report'],
      ['retinue demo fan-out', 'live lines of five runs'],
    ],
    exits: 'outcome',
    load: () => import('../commands/demo.ts'),
  },
];
