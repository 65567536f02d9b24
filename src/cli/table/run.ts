import { ask, type Command, ground, json, many, plain, sandbox } from '../command.ts';
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
  sandbox,
  { name: 'max-turns', value: 'N', help: 'model calls with their tools, 1 to 500 (default: 40)' },
  { name: 'timeout', value: 'TIME', help: '`90s`, `10m`, `1h`; a bare number is seconds (default: 30m)' },
  { name: 'budget-usd', value: 'USD', help: 'money for the whole tree (default: 5)' },
  { name: 'budget-tokens', value: 'N', help: 'tokens for the whole tree (default: 2000000)' },
  { name: 'output-schema', value: 'FILE', help: 'a JSON Schema that the result must fit' },
  { name: 'host', value: 'PLACE', help: '`inline` (default) or `process`: each run in a process of its own, without keys' },
  ask,
  { name: 'detach', short: 'd', help: 'run in a background process, print the run’s id and return' },
  { name: 'stream-json', help: 'print facts as JSON Lines on standard output as they come' },
];

const subagentFlags = ['agent', 'model', 'context', 'allow', 'deny', 'sandbox', 'max-turns', 'timeout', 'budget-usd', 'budget-tokens'];

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
    name: 'subagent',
    group: 'run',
    usage: '--task TEXT [--context TEXT] | --envelope [flags]',
    summary: 'do one delegated task and print its outcome as JSON',
    about:
      'For programs that start a child by themselves: a fresh context, no delegation, one outcome on standard output and progress on standard error. `retinue --subagent --task TEXT` is the same. The task has 5 minutes unless --timeout or `dialects.ralph.subagent_timeout` says otherwise. With --envelope the task comes as one request envelope of the dialect rx on standard input, within the bounds of `dialects.rx`, and one response envelope goes to standard output; what is refused is such a response too, with exit code 2.',
    flags: [
      { name: 'task', value: 'TEXT', help: 'what is to be done' },
      { name: 'envelope', help: 'read a request envelope of rx from standard input, and write its response' },
      ...runFlags.filter(({ name }) => subagentFlags.includes(name)),
      ...ground,
    ],
    words: { min: 0, max: 0 },
    examples: [
      ['retinue subagent --task "count the tests" --context "they are in test/" | jq -r .summary', 'its report'],
      ['retinue subagent --envelope < request.json | jq .response', 'as rx has it'],
    ],
    exits: 'outcome',
    load: () => import('../commands/subagent.ts'),
  },
  {
    name: 'demo',
    group: 'run',
    usage: '[NAME] [flags]',
    summary: 'watch a survey of this folder: one child for each part of it, without a key or network',
    about:
      'NAME: survey (default); fan-out, where a scripted model delegates to four children over the files of Retinue itself; crash, where a tree of six is ' +
      'killed with -9 in the middle and gone on with; hostile, where a child obeys a file that tells it to take a key and to push; runaway, where a child ' +
      'tries to start 500 others.',
    flags: [json, plain],
    words: { min: 0, max: 1 },
    examples: [
      ['retinue demo', 'live lines of the survey, and then its report'],
      ['retinue demo fan-out', 'live lines of five runs'],
      ['retinue demo crash', 'how many model and tool calls a kill -9 repeats: 0'],
      ['retinue demo hostile', 'each refusal of a child that obeys a hostile file, with its reason'],
      ['retinue demo runaway', 'what became of 500 runs that a child asked for'],
    ],
    exits: 'outcome',
    load: () => import('../commands/demo.ts'),
  },
];
