import type { Settings } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { formatFlagDuration } from '../args/flag-values.ts';
import type { Args } from '../args/parse-args.ts';
import { runSettings } from '../args/settings-flags.ts';
import { type Command, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { withLocalApi } from '../session/open-api.ts';
import { runToEnd } from '../session/run-to-end.ts';
import { runFlags, timeoutHelp } from './run.ts';

const sharedFlags = ['agent', 'model', 'context', 'allow', 'deny', 'sandbox', 'add-dir', 'max-turns', 'budget-usd', 'budget-tokens'];

/** Of Ralph's subagents, whose form of call this is. */
const defaultTimeoutSeconds = 300;
const timeoutDefault = `${formatFlagDuration(defaultTimeoutSeconds * 1000)}, or \`dialects.ralph.subagent_timeout\`; with --envelope: the request, or \`dialects.rx.timeout_seconds\``;

export const subagentCommand: Command = {
  name: 'subagent',
  group: 'integrate',
  usage: '--task TEXT [--context TEXT] | --envelope [flags]',
  summary: 'do one task for another program and print the outcome as JSON',
  about:
    'For programs that start their own subagents. The agent starts with an empty context and cannot delegate. The outcome goes to standard output, progress to standard error. `retinue --subagent --task TEXT` is the same.\n\n' +
    'With --envelope, the task is a request envelope of the rx dialect on standard input, limited by `dialects.rx`, and the result is a response envelope on standard output. An invalid request also gets a response envelope, with exit code 2.',
  flags: [
    { name: 'task', value: 'TEXT', help: 'the task' },
    { name: 'envelope', help: 'read an rx request envelope from standard input and print the response envelope' },
    ...runFlags.filter(({ name }) => sharedFlags.includes(name)),
    { name: 'timeout', value: 'TIME', help: timeoutHelp(timeoutDefault) },
    ...writingFlags,
  ],
  positionals: { min: 0, max: 0 },
  examples: [
    ['retinue subagent --task "count the tests" --context "they are in test/" | jq -r .summary', 'prints only the result'],
    ['retinue subagent --envelope < request.json | jq .response', 'with rx envelopes'],
  ],
  exitCodes: 'outcome',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  if (args.has('envelope')) return (await import('./subagent-envelope.ts')).runEnvelope(args, io);
  const task = args.value('task')?.trim() ?? '';
  if (task === '') throw new RetinueError('usage', 'the task is missing; write `retinue subagent --task "what to do"`');
  const context = args.value('context');
  const flags = runSettings(args);
  const createBrief = (settings: Settings) => ({
    task: context === undefined ? task : `Context: ${context}\n\nTask: ${task}`,
    ...(args.value('agent') === undefined ? {} : { agent: args.value('agent') }),
    ...(flags.model === undefined ? {} : { model: settings.model?.value }),
    limits: { timeoutMs: defaultTimeoutMs(settings), ...flags.limits, maxDepth: 0 },
  });
  return withLocalApi(io, { flags, drive: true, startsRuns: true, agents: { chosen: args.value('agent') } }, async (api, settings) => {
    const start = () => api.start(createBrief(settings));
    return (await runToEnd(io, api, { json: true, stream: false, plain: true, endsWithProcess: true, start })) ?? 0;
  });
}

function defaultTimeoutMs({ dialects }: Settings): number {
  const configured = dialects.ralph?.subagent_timeout;
  return (typeof configured === 'number' ? configured : defaultTimeoutSeconds) * 1000;
}
