import type { Api, RunView } from '../../api/api.ts';
import { runToJson } from '../../views/json.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags, unlimited } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { formatRuns } from '../output/run-table.ts';
import { withApi } from '../session/open-api.ts';

export const psCommand: Command = {
  name: 'ps',
  aliases: ['status', 'list'],
  group: 'watch',
  usage: '[ID…] [--all] [flags]',
  summary: 'list the runs of all processes that have not ended',
  about:
    'The status `interrupted` means that the process of the run has died; continue it with `retinue resume`. With an ID: that run and its children, ended or not; `retinue show ID` has the details.',
  flags: [{ name: 'all', short: 'a', help: 'include ended runs, newest first' }, jsonFlag, ...commonFlags, ...serverFlags],
  positionals: { min: 0, max: unlimited },
  examples: [
    ['retinue ps', 'runs that have not ended'],
    ['retinue ps --all --json | jq ".[0].status"', 'the status of the newest run'],
  ],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const all = args.has('all');
  const { runs, questions } = await withApi(io, { flags: commonSettings(args), drive: false }, async (api) => ({
    runs: args.positionals.length === 0 ? await api.ps({ all }) : await findRuns(api, args.positionals),
    questions: await api.questions(),
  }));
  if (args.has('json')) printJson(io, runs.map(runToJson));
  else if (runs.length > 0) io.out(formatRuns(runs, io));
  else io.err(all ? 'no runs yet; start one with `retinue run "TASK"`\n' : 'no live runs; `retinue ps --all` includes ended ones\n');
  if (questions.length > 0 && !args.has('json')) {
    const calls = questions.length === 1 ? '1 call waits' : `${questions.length} calls wait`;
    io.err(`retinue: ${calls} for approval; see \`retinue approve\`\n`);
  }
  return 0;
}

/** Each given run, followed by its children; every run once. */
async function findRuns(api: Api, ids: string[]): Promise<RunView[]> {
  const details = await Promise.all(ids.map((id) => api.show(id)));
  const runs = details.flatMap((run): RunView[] => [run, ...run.children]);
  return [...new Map(runs.map((run) => [run.runId, run])).values()];
}
