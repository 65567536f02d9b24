import { runToJson } from '../../views/json.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings, defaultQuestionMs } from '../args/settings-flags.ts';
import { type Command, jsonFlag, serverFlags, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { formatRuns } from '../output/run-table.ts';
import { withApi } from '../session/open-api.ts';
import { canShowScreen, showScreen } from '../session/show-screen.ts';

export const topCommand: Command = {
  name: 'top',
  group: 'watch',
  usage: '[--all] [flags]',
  summary: 'watch and steer all live runs on a full screen',
  about:
    'Shows every tree of runs in this database as it changes, whichever process runs it. Move with the arrow keys, open a run with Enter, press ? for all keys: cancel, message, pause, approve, filter. Leaving the screen changes nothing: the runs continue. Without a terminal, or with --plain, it prints the live runs once, as text.',
  flags: [
    { name: 'all', short: 'a', help: 'include ended runs in the text or JSON' },
    { name: 'plain', help: 'print the runs once as a table, for screen readers and pipes' },
    jsonFlag,
    ...writingFlags,
    ...serverFlags,
  ],
  positionals: { min: 0, max: 0 },
  examples: [
    ['retinue top', 'in a second terminal, while `retinue run` works in the first'],
    ['retinue top --plain', 'the live runs as text'],
  ],
  exitCodes: 'watch',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  if (!canShowScreen(io, args)) return printOnce(args, io);
  await io.assertNotBelowRun();
  const session = { flags: commonSettings(args), drive: true, existingOnly: false, askMs: defaultQuestionMs };
  return withApi(io, session, (api) => showScreen(io, api, { attach: null }));
}

async function printOnce(args: Args, io: Io): Promise<number> {
  const all = args.has('all');
  const runs = await withApi(io, { flags: commonSettings(args), drive: false }, (api) => api.ps({ all }));
  if (args.has('json')) printJson(io, runs.map(runToJson));
  else if (runs.length > 0) io.out(formatRuns(runs, io));
  else io.err('no live runs; `retinue top --plain --all` includes ended ones\n');
  return 0;
}
