import { RetinueError } from '../../contract/error.ts';
import type { StoredSchedule } from '../../ports/queue.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatTable } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { parseSource, sourceFlags } from '../args/source-flags.ts';
import { type Command, jsonFlag, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withLocalApi } from '../session/open-api.ts';
import { defaultQueue, parseGroup, parsePriority, requireServer } from '../session/queues.ts';

const usage = 'add "TIMES" TASK… [flags] | list | rm NAME';

export const scheduleCommand: Command = {
  name: 'schedule',
  group: 'run',
  usage,
  summary: 'queue a run again and again, at times of the day',
  about:
    'The times are the five fields of cron (minute, hour, day, month, day of the week) in a time zone; add --timezone, or they are UTC. Put them in quotes: `0 7 * * 1-5` is every working day at seven. Each time, one worker puts the task into the queue, once. The run gets the settings and the rights that the worker has configured, and works in the current workspace, which the worker has to share, or in a checkout of --repository. `add` with the --name of a schedule replaces it.\n\n' +
    'A schedule is first due at the first of its times after it was added. If no worker is running at the time, the run is left out. It is left out, too, if it cannot be queued, and `list` says why.',
  flags: [
    { name: 'name', value: 'NAME', help: 'the name of the schedule (default: eight letters and digits)' },
    { name: 'timezone', value: 'ZONE', help: 'the time zone of the times, such as `Europe/Berlin` (default: UTC)' },
    { name: 'queue', value: 'NAME', help: `the queue (default: ${defaultQueue})` },
    { name: 'priority', value: 'N', help: 'higher first, -1000 to 1000 (default: 0)' },
    { name: 'group', value: 'KEY', help: 'runs of one group share the limit `--per-group` of the workers' },
    { name: 'agent', value: 'NAME', help: 'the agent to run (default: general)' },
    { name: 'model', value: 'NAME', help: 'the model, as `provider/model` (default: the one that the worker has configured)' },
    ...sourceFlags,
    { name: 'label', value: 'TEXT', help: 'a short name for the runs in lists (default: the name of the schedule)' },
    { name: 'dialect', value: 'NAME', help: 'the set of delegation tools that the agent gets (default: native)' },
    jsonFlag,
    ...writingFlags,
  ],
  positionals: { min: 1, max: unlimited },
  examples: [
    ['retinue schedule add "0 7 * * 1-5" "summarise the open issues" --name morning --timezone Europe/Berlin', 'every working day'],
    ['retinue schedule list', 'with the next time of each, and what went wrong'],
    ['retinue schedule rm morning', 'queued runs stay'],
  ],
  exitCodes: 'command',
  changes: (args) => args.positionals[0] !== 'list',
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [action, ...rest] = args.positionals;
  const act = { add, list, rm }[action as string];
  if (!act)
    throw new RetinueError(
      'usage',
      `${unknownNameMessage('action', String(action), ['add', 'list', 'rm'])}; usage: retinue schedule ${usage}`,
    );
  requireServer(await io.settings(commonSettings(args)), 'schedules are in');
  return act(rest, args, io);
}

async function add([cron, ...words]: string[], args: Args, io: Io): Promise<number> {
  const name = args.value('name');
  if (cron === undefined) throw missing('the times are missing');
  if (cron.trim().split(/\s+/).length === 1) throw missing(`\`${cron}\` does not say when; put the five fields of the times in quotes`);
  if (name !== undefined && !/^[\w-]{1,60}$/.test(name))
    throw new RetinueError(
      'usage',
      `\`${name}\` cannot be the name of a schedule; use letters, digits, \`-\` and \`_\`, at most 60 characters`,
    );
  const task = words.join(' ').trim();
  if (task === '') throw missing('the task is missing');
  const optional = { ...optionalText('agent', args.value('agent')), ...optionalText('model', args.value('model')) };
  const [priority, group] = [args.value('priority'), args.value('group')];
  const open = { flags: commonSettings(args), dialect: args.value('dialect'), drive: true, agents: { chosen: args.value('agent') } };
  return withLocalApi(io, open, async (api, settings) => {
    const stored = await api.putSchedule({
      ...{ name, cron, queue: args.value('queue') ?? defaultQueue },
      timezone: args.value('timezone') ?? 'UTC',
      priority: priority === undefined ? 0 : parsePriority(priority),
      group: group === undefined ? null : parseGroup(group),
      dialect: args.value('dialect') ?? null,
      brief: {
        task,
        ...optionalText('label', args.value('label') ?? name),
        ...optional,
        ...(parseSource(args, io) ?? { workspace: settings.workspace }),
      },
    });
    if (args.has('json')) printJson(io, toJson(stored));
    else {
      io.out(`${stored.name}\n`);
      io.err(`retinue: ${stored.name} is due next at ${stored.next ?? 'no time'}\n`);
    }
    return 0;
  });
}

async function list(rest: string[], args: Args, io: Io): Promise<number> {
  if (rest.length > 0) throw new RetinueError('usage', `unexpected argument \`${rest.join(' ')}\`; usage: retinue schedule list`);
  return withLocalApi(io, { flags: commonSettings(args), drive: false }, async (api) => {
    const schedules = await api.schedules();
    if (args.has('json')) printJson(io, schedules.map(toJson));
    else if (schedules.length === 0) io.err('no schedules; add one with `retinue schedule add`\n');
    else io.out(formatSchedules(schedules, io));
    if (!args.has('json'))
      for (const { name, problem } of schedules)
        if (problem) io.err(`retinue: ${name} could not be queued at ${problem.at}: ${sanitizeLine(problem.message)}\n`);
    return 0;
  });
}

async function rm([name, ...more]: string[], args: Args, io: Io): Promise<number> {
  if (name === undefined || more.length > 0) throw missing('name one schedule');
  return withLocalApi(io, { flags: commonSettings(args), drive: false, writes: true }, async (api) => {
    if (!(await api.removeSchedule(name))) {
      const names = (await api.schedules()).map((schedule) => schedule.name);
      io.err(`retinue: ${unknownNameMessage('schedule', name, names)}\n`);
      return 1;
    }
    if (args.has('json')) printJson(io, { removed: name });
    else io.err(`retinue: ${name} was removed\n`);
    return 0;
  });
}

function optionalText(key: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [key]: value };
}

function missing(what: string): RetinueError {
  return new RetinueError('usage', `${what}; usage: retinue schedule ${usage}`);
}

function toJson({ brief, ...schedule }: StoredSchedule) {
  return { ...schedule, task: taskOf(brief) };
}

function taskOf(brief: unknown): string {
  return String((brief as { task?: unknown }).task ?? '');
}

function formatSchedules(schedules: StoredSchedule[], io: Io): string {
  const rows = schedules.map(({ name, cron, timezone, queue, next, brief }) =>
    [name, cron, timezone, next?.replace(/:00\.000Z$/, 'Z') ?? 'never', queue, taskOf(brief)].map(sanitizeLine),
  );
  const columns = [...['NAME', 'TIMES', 'ZONE', 'NEXT', 'QUEUE'].map((title) => ({ title })), { title: 'TASK', flexible: true }];
  return `${formatTable(columns, rows, { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style: () => null }).join('\n')}\n`;
}
