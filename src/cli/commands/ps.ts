import type { Api, RunView } from '../../api/api.ts';
import { RetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatPlural } from '../../views/format.ts';
import { runToJson } from '../../views/json.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags, unlimited } from '../command.ts';
import type { Io } from '../io.ts';
import { formatWorkspaces, type WorkspaceRuns, workspaceArguments } from '../output/everywhere-table.ts';
import { printJson } from '../output/print-json.ts';
import { formatRuns } from '../output/run-table.ts';
import { withApi } from '../session/open-api.ts';

export const psCommand: Command = {
  name: 'ps',
  aliases: ['status', 'list'],
  group: 'watch',
  usage: '[ID…] [--all] [--everywhere] [flags]',
  summary: 'list the runs of all processes that have not ended',
  about:
    'The status `interrupted` means that the process of the run has died; continue it with `retinue resume`. With an ID: that run and its children, ended or not; `retinue show ID` has the details.\n\n' +
    'With --everywhere: the runs of all your workspaces, one table each. A workspace is known after the first command that starts or steers a run there. Other commands reach its runs with -C.',
  flags: [
    { name: 'all', short: 'a', help: 'include ended runs, newest first' },
    { name: 'everywhere', short: 'e', help: 'list the runs of all your workspaces on this machine' },
    jsonFlag,
    ...commonFlags,
    ...serverFlags,
  ],
  positionals: { min: 0, max: unlimited },
  examples: [
    ['retinue ps', 'runs that have not ended'],
    ['retinue ps --everywhere', 'the same for all workspaces'],
    ['retinue ps --all --json | jq ".[0].status"', 'the status of the newest run'],
  ],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  if (args.has('everywhere')) return listEverywhere(args, io);
  const all = args.has('all');
  const { runs, questions } = await withApi(io, { flags: commonSettings(args), drive: false }, async (api) => ({
    runs: args.positionals.length === 0 ? await api.ps({ all }) : await findRuns(api, args.positionals),
    questions: await api.questions(),
  }));
  if (args.has('json')) printJson(io, runs.map(runToJson));
  else if (runs.length > 0) io.out(formatRuns(runs, io));
  else io.err(all ? 'no runs yet; start one with `retinue run "TASK"`\n' : 'no live runs; `retinue ps --all` includes ended ones\n');
  if (questions.length > 0 && !args.has('json')) io.err(`retinue: ${describeWaiting(questions.length)}; see \`retinue approve\`\n`);
  return 0;
}

/** Each given run, followed by its children; every run once. */
async function findRuns(api: Api, ids: string[]): Promise<RunView[]> {
  const details = await Promise.all(ids.map((id) => api.show(id)));
  const runs = details.flatMap((run): RunView[] => [run, ...run.children]);
  return [...new Map(runs.map((run) => [run.runId, run])).values()];
}

/** Refused below a run: its model must not see what the user does elsewhere. */
async function listEverywhere(args: Args, io: Io): Promise<number> {
  const [id] = args.positionals;
  if (id !== undefined) throw new RetinueError('usage', `--everywhere takes no ID; remove \`${id}\`, or use -C DIR`);
  const flag = [...commonFlags, ...serverFlags].find(({ name }) => args.has(name));
  if (flag) throw new RetinueError('usage', `--everywhere and --${flag.name} cannot be combined`);
  await io.assertNotBelowRun();
  const all = args.has('all');
  const databases = await io.workspaces.list();
  const workspaces: WorkspaceRuns[] = [];
  for (const database of databases) {
    try {
      const read = async (api: Api) => ({ runs: await api.ps({ all }), questions: (await api.questions()).length });
      workspaces.push({ database, ...(await io.workspaces.read(database, read)) });
    } catch (error) {
      io.err(`retinue: ${sanitizeLine(`${database.workspace} cannot be read: ${String((error as Error)?.message ?? error)}`)}\n`);
    }
  }
  const rows = workspaces.flatMap(({ database: { workspace }, runs }) => runs.map((view) => ({ ...runToJson(view), workspace })));
  if (args.has('json')) printJson(io, rows);
  else if (rows.length > 0) io.out(formatWorkspaces(workspaces, io));
  else io.err(describeEmpty(workspaces.length, all));
  for (const { database, questions } of args.has('json') ? [] : workspaces)
    if (questions > 0)
      io.err(`retinue: ${describeWaiting(questions)}; see \`retinue approve ${sanitizeLine(workspaceArguments(database))}\`\n`);
  return 0;
}

function describeEmpty(workspaces: number, all: boolean): string {
  if (workspaces === 0) return 'no workspaces yet; a workspace is known after its first run\n';
  const where = `in ${formatPlural(workspaces, 'workspace')}`;
  return all ? `no runs ${where}\n` : `no live runs ${where}; \`retinue ps --everywhere --all\` includes ended ones\n`;
}

function describeWaiting(questions: number): string {
  return `${questions === 1 ? '1 call waits' : `${questions} calls wait`} for approval`;
}
