import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson, runToJson } from '../output/json.ts';
import { formatRuns } from '../output/run-table.ts';
import { withApi } from '../session/open-api.ts';

export const psCommand: Command = {
  name: 'ps',
  group: 'watch',
  usage: '[--all] [flags]',
  summary: 'list the runs of all processes that have not ended',
  about: 'The status `interrupted` means that the process of the run has died; continue it with `retinue resume`.',
  flags: [{ name: 'all', short: 'a', help: 'include ended runs, newest first' }, jsonFlag, ...commonFlags],
  positionals: { min: 0, max: 0 },
  examples: [
    ['retinue ps', 'runs that have not ended'],
    ['retinue ps --all --json | jq ".[0].status"', 'the status of the newest run'],
  ],
  exitCodes: 'command',
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const all = args.has('all');
  const { runs, questions } = await withApi(io, { flags: commonSettings(args), drive: false }, async (api) => ({
    runs: await api.ps({ all }),
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
