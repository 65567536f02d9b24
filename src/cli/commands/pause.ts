import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { shortId } from '../output/format.ts';
import { printJson } from '../output/json.ts';
import { withApi } from '../session/open-api.ts';

export const pauseCommand: Command = {
  name: 'pause',
  group: 'control',
  usage: 'ID… [--reason TEXT] [flags]',
  summary: 'pause runs before their next step',
  about:
    'Tool calls that are running finish first; the command returns when the runs are paused. Continue a run with `retinue resume ID` or `retinue message ID TEXT`. Its time limit keeps counting.',
  flags: [{ name: 'reason', value: 'TEXT', help: 'the reason to record' }, jsonFlag, ...writingFlags],
  positionals: { min: 1, max: unlimited },
  examples: [['retinue pause last', 'then look at it, and continue with `retinue resume last`']],
  exitCodes: 'command',
  run,
};

const resultTexts = { paused: 'is paused', already: 'has ended, is already paused, or has no process' };

async function run(args: Args, io: Io): Promise<number> {
  const reason = args.value('reason') ?? 'paused on the command line';
  const results = await withApi(io, { flags: commonSettings(args), drive: true, existingOnly: true }, async (api) => {
    const ids = await Promise.all(args.positionals.map((id) => api.find(id)));
    return api.pause(ids, reason);
  });
  if (args.has('json')) printJson(io, results);
  else for (const { runId, result } of results) io.out(`${shortId(runId)} ${resultTexts[result]}\n`);
  return 0;
}
