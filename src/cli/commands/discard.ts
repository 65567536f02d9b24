import { shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withLocalApi } from '../session/open-api.ts';

export const discardCommand: Command = {
  name: 'discard',
  group: 'control',
  usage: 'ID… [flags]',
  summary: 'mark the changes of runs as not wanted',
  about:
    'The changes that the runs made in their own copy of the files can no longer be applied, and files that they left behind are deleted. The record stays until `retinue rm` erases it. A run that has not ended is refused; cancel it first. For a run without its own copy: those of the runs that it delegated; the exit code is 1 if none of them had one.',
  flags: [jsonFlag, ...writingFlags],
  positionals: { min: 1, max: unlimited },
  examples: [['retinue discard last', 'its changes were not good']],
  exitCodes: 'command',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const session = { flags: commonSettings(args), drive: true, existingOnly: true };
  const discarded = await withLocalApi(io, session, (api) => api.discard(args.positionals));
  if (args.has('json')) printJson(io, { discarded });
  else io.out(`discarded the changes of ${discarded.map(shortId).join(', ')}\n`);
  return 0;
}
