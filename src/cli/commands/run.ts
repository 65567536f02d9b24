import type { BriefFile } from '../../config/attachments.ts';
import type { Settings } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { defaultLimits } from '../../contract/limits.ts';
import { maxTaskBytes } from '../../contract/task-size.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { shortId } from '../../views/format.ts';
import { effortFlag, parseEffortFlag } from '../args/effort-flag.ts';
import { formatFlagDuration } from '../args/flag-values.ts';
import type { Args, Flag } from '../args/parse-args.ts';
import { assertFollowed } from '../args/refused-flags.ts';
import { outputMode, parseHost, questionTimeout, runSettings } from '../args/settings-flags.ts';
import { parseSource, sourceFlags } from '../args/source-flags.ts';
import {
  addDirFlag,
  askFlag,
  budgetFlag,
  type Command,
  jsonFlag,
  plainFlag,
  ruleFlags,
  sandboxFlag,
  serverFlags,
  streamFlag,
  unlimited,
  writingFlags,
} from '../command.ts';
import type { Detached, Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withFiles } from '../session/brief-files.ts';
import { hasOwnTask, parseChecks, parseParams, parseTools, readSchema, readTask } from '../session/brief-parts.ts';
import { loadSettings, nameLimitFile, withLocalApi } from '../session/open-api.ts';
import { reportInterruptedRuns } from '../session/orphan-watch.ts';
import { defaultQueue, jobFlags, parseJob, requireServer } from '../session/queues.ts';
import { runInQueue } from '../session/run-in-queue.ts';
import { runOnServer } from '../session/run-on-server.ts';
import { runToEnd } from '../session/run-to-end.ts';
import { chooseServer } from '../session/server.ts';

export function timeoutHelp(byDefault: string): string {
  return `time limit: \`90s\`, \`10m\`, \`1h\`; a bare number is seconds (default: ${byDefault})`;
}

export const runFlags: Flag[] = [
  { name: 'agent', value: 'NAME', help: 'the agent to run (default: general; see `retinue agents`)' },
  { name: 'model', value: 'NAME', help: 'the model, as `provider/model`' },
  effortFlag,
  { name: 'dialect', value: 'NAME', help: 'the set of delegation tools that the agent gets (default: native; see `retinue dialects`)' },
  { name: 'label', value: 'TEXT', help: 'a short name for the run in lists' },
  {
    name: 'file',
    value: 'PATH',
    repeatable: true,
    help: 'a text file to include in the first message; the agent can read the rest of a long one',
  },
  ...sourceFlags,
  { name: 'worktree', help: 'work on a copy of the files as they are now; `retinue diff` shows the result, `retinue apply` takes it over' },
  {
    name: 'param',
    value: 'NAME=VALUE',
    repeatable: true,
    help: 'a value for a parameter of the agent (see `retinue agents explain NAME`)',
  },
  { name: 'context', value: 'TEXT', mayBeEmpty: true, help: 'background that the agent should know' },
  { name: 'tools', value: 'A,B', mayBeEmpty: true, help: 'give the agent only these of its tools (empty: none)' },
  ...ruleFlags,
  sandboxFlag,
  addDirFlag,
  { name: 'max-turns', value: 'N', help: `limit of model calls, 1 to 500 (default: ${defaultLimits.maxTurns})` },
  { name: 'timeout', value: 'TIME', help: timeoutHelp(formatFlagDuration(defaultLimits.timeoutMs)) },
  { name: 'budget-usd', value: 'USD', help: `spending limit for the run and all its children (default: ${defaultLimits.maxCostUsd})` },
  { name: 'budget-tokens', value: 'N', help: `token limit for the run and all its children (default: ${defaultLimits.maxTokens})` },
  budgetFlag,
  {
    name: 'verify',
    value: 'COMMAND',
    repeatable: true,
    help: 'a shell command that must succeed before the run counts as done; a failure goes back to the agent (see docs/checks.md)',
  },
  {
    name: 'review',
    value: 'TEXT',
    repeatable: true,
    help: 'what the agent `review` must find true before the run counts as done; it only reads (see docs/checks.md)',
  },
  { name: 'output-schema', value: 'FILE', help: 'a JSON Schema that the result must match' },
  {
    name: 'host',
    value: 'HOST',
    help: 'where file tools execute: `inline` (default), or `process` for a process per run that has no API keys',
  },
  askFlag,
  {
    name: 'queue',
    value: 'NAME',
    isOptional: true,
    help: `leave the run to a worker, in this queue of a PostgreSQL database (default: ${defaultQueue}; see \`retinue worker\`)`,
  },
  ...jobFlags,
  { name: 'detach', short: 'd', help: 'run in the background: print the id and return' },
  streamFlag,
];

export const runCommand: Command = {
  name: 'run',
  group: 'run',
  usage: '[flags] TASK…',
  summary: 'give a task to an agent and print its result',
  about:
    'The result goes to standard output, progress to standard error. A `-` adds standard input to the task. `retinue "task"` is short for `retinue run "task"`.\n\n' +
    'Ctrl-C cancels the run and its children and prints what they have so far; a second Ctrl-C exits at once. With --detach the run continues in the background; use `logs -f`, `wait` and `cancel` on it.\n\n' +
    'With --server the run starts on the server, in the workspace, with the model and the permissions that are configured there, and is shown here. The paths of --file are paths in that workspace; --deny takes permissions away, and --allow is refused.',
  flags: [...runFlags, jsonFlag, plainFlag, ...writingFlags, ...serverFlags],
  positionals: { min: 0, max: unlimited },
  examples: [
    ['retinue run "explain the build" --agent explore', 'with an agent that can only read'],
    ['git diff | retinue run "review this" -', 'adds the diff from standard input to the task'],
    ['retinue run "fix the failing test" --allow "bash:npm test*" --timeout 10m', 'may run the tests, for 10 minutes at most'],
    ['retinue wait $(retinue run --detach "survey the tests")', 'starts in the background, then waits for the result'],
    ['retinue run "list the endpoints" --output-schema api.json --json | jq .data', 'a structured result'],
  ],
  exitCodes: 'outcome',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const mode = outputMode(args);
  const flags = runSettings(args);
  const job = parseJob(args, io.now());
  const schema = await readSchema(args, io);
  const effort = parseEffortFlag(args);
  const params = parseParams(args);
  const given = await readTask(args, io, () => hasOwnTask(args, io));
  const open = {
    ...optional('dialect', args.value('dialect')),
    ...optional('host', parseHost(args)),
    ...optional('askMs', questionTimeout(args, io)),
  };
  const session = { flags, agents: { chosen: args.value('agent') } };
  const createBrief = (model: string | undefined, paths: string[]) => ({
    task: given.task,
    ...optional('context', args.value('context')),
    ...optional('agent', args.value('agent')),
    ...optional('params', params),
    ...optional('label', args.value('label')),
    ...optional('model', args.has('model') ? model : undefined),
    ...optional('effort', effort),
    ...optional('files', paths.length === 0 ? undefined : paths),
    ...optional('tools', parseTools(args)),
    ...parseSource(args, io),
    ...optional('isolation', args.has('worktree') ? ('worktree' as const) : undefined),
    ...optional('limits', Object.keys(flags.limits).length === 0 ? undefined : flags.limits),
    ...optional('budgets', args.values('budget').length === 0 ? undefined : args.values('budget')),
    ...optional('checks', parseChecks(args)),
    ...optional('idempotencyKey', args.value('idempotency-key')),
    ...optional('result', schema === undefined ? undefined : { schema }),
  });
  assertFollowed(args, 'detach', 'run');
  assertFollowed(args, 'queue', 'run');
  if (chooseServer(io, flags) !== null) {
    if (given.input !== null)
      throw new RetinueError(
        'usage',
        `standard input is longer than the ${maxTaskBytes} bytes of a task; put it into a file of the server's workspace and name that with --file`,
      );
    const brief = {
      ...createBrief(args.value('model'), args.values('file')),
      ...optional('rules', flags.rules.length === 0 ? undefined : flags.rules),
    };
    return runOnServer(io, { flags, brief, mode, job, isDetached: args.has('detach') });
  }
  if (job !== null) {
    requireServer(await io.settings(flags), '--queue needs');
    const files = { paths: args.values('file'), input: given.input };
    const createQueued = (settings: Settings, paths: string[]) => createBrief(settings.model?.value, paths);
    return runInQueue(io, {
      ...session,
      dialect: open.dialect,
      job,
      mode,
      files,
      createBrief: createQueued,
      isDetached: args.has('detach'),
    });
  }
  if (args.has('detach')) {
    const settings = await loadSettings(io, session);
    const inWorkspace = { ...flags, workspace: settings.workspace };
    const detached = await withFiles(
      io,
      { workspace: settings.workspace, paths: args.values('file'), input: given.input },
      async (files) => {
        const request = { flags: inWorkspace, brief: createBrief(settings.model?.value, toPaths(files)), open };
        const started = await nameLimitFile(settings, () => io.detach(request, settings));
        return { started, id: started.runId };
      },
    );
    printDetached(io, detached, mode.json);
    return 0;
  }
  return withLocalApi(io, { ...session, ...open, drive: true, startsRuns: true }, async (api, settings) => {
    const start = () =>
      withFiles(io, { workspace: settings.workspace, paths: args.values('file'), input: given.input }, async (files) => {
        const started = await api.start(createBrief(settings.model?.value, toPaths(files)), { trace: io.trace });
        return { started, id: started.id };
      });
    const code = (await runToEnd(io, api, { ...mode, start })) ?? 0;
    await reportInterruptedRuns(io, api);
    return code;
  });
}

function toPaths(files: BriefFile[]): string[] {
  return files.map(({ path }) => path);
}

function printDetached(io: Io, { runId, log }: Detached, json: boolean): void {
  if (json) printJson(io, { runId });
  else io.out(`${runId}\n`);
  const id = shortId(runId);
  io.err(`retinue: running in the background: retinue logs ${id} -f · retinue wait ${id} · retinue cancel ${id}\n`);
  io.err(`retinue: its output is written to ${sanitizeLine(log)}\n`);
}

function optional<K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: T };
}
