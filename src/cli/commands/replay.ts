import type { ReplayResult } from '../../records/replay.ts';
import { sanitizeLine, stringifySafely } from '../../text/terminal.ts';
import { formatPlural, shortId } from '../../views/format.ts';
import { paint } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';

export const replayCommand: Command = {
  name: 'replay',
  group: 'records',
  usage: 'ID [flags]',
  summary: 'repeat every decision of a run from its recorded events, and compare',
  about:
    'Uses no model, tool, file or clock. Every model request must have the same hash again, and the outcome must be the same byte for byte, for the run and its descendants. At the first difference the command prints both sides and stops with exit code 1.',
  flags: [jsonFlag, ...commonFlags, ...serverFlags],
  positionals: { min: 1, max: 1 },
  examples: [['retinue replay last', 'the newest run and its descendants']],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [id] = args.positionals as [string];
  const results = await withApi(io, { flags: commonSettings(args), drive: false }, async (api) => api.replay(await api.find(id)));
  if (args.has('json')) printJson(io, results);
  else for (const result of results) io.out(`${describeReplay(result, io.colour.out)}\n`);
  return results.every(({ difference }) => difference === null) ? 0 : 1;
}

function describeReplay({ runId, facts, requests, difference }: ReplayResult, colour: boolean): string {
  const head = `${shortId(runId)} ${formatPlural(facts, 'event')} · ${formatPlural(requests, 'model request')} · 0 outside calls`;
  if (!difference) return `${head} · ${paint(colour, 'green', 'identical')}`;
  const { seq, type, what, recorded, rebuilt } = difference;
  const problem = paint(colour, 'red', `differs at event ${seq} (${sanitizeLine(type)}): ${sanitizeLine(what)}`);
  return `${head} · ${problem}\n  recorded: ${stringifySafely(recorded)}\n  replayed: ${stringifySafely(rebuilt)}`;
}
