import type { Cancelled } from '../../api/api.ts';
import { shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, serverFlags, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';

export const cancelCommand: Command = {
  name: 'cancel',
  aliases: ['stop', 'kill'],
  group: 'control',
  usage: 'ID… [--reason TEXT] [flags]',
  summary: 'cancel runs and all their descendants',
  about: 'Returns when the request is recorded; use `retinue wait` to wait for the end. A run without a process is ended by this command.',
  flags: [{ name: 'reason', value: 'TEXT', mayBeEmpty: true, help: 'the reason to record' }, jsonFlag, ...writingFlags, ...serverFlags],
  positionals: { min: 1, max: unlimited },
  examples: [['retinue cancel last --reason "wrong branch"', 'the newest run']],
  exitCodes: 'command',
  changes: true,
  run,
};

const resultTexts: Record<Cancelled['result'], string> = {
  asked: 'is being cancelled',
  ended: 'is cancelled; it had no process',
  already: 'had already ended',
};

async function run(args: Args, io: Io): Promise<number> {
  const reason = args.value('reason') ?? 'cancelled on the command line';
  const results = await withApi(io, { flags: commonSettings(args), drive: true, existingOnly: true }, async (api) => {
    const ids = await Promise.all(args.positionals.map((id) => api.find(id)));
    return api.cancel(ids, reason);
  });
  if (args.has('json')) printJson(io, results);
  else for (const { runId, result } of results) io.out(`${shortId(runId)} ${resultTexts[result]}\n`);
  return 0;
}
