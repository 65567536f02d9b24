import { sanitizeLine } from '../../text/terminal.ts';
import { formatCount } from '../../views/format.ts';
import { paint } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';

export const verifyCommand: Command = {
  name: 'verify',
  group: 'records',
  usage: '[ID] [flags]',
  summary: 'check that no recorded event was changed or removed',
  about:
    'Every event has a hash over itself and the event before it, and the events of a parent include the hashes of its children. So the last hash of a root run covers its whole tree. Without an ID, all runs are checked. The command also checks the database itself: its tables, whether rows and events fit together and are complete, and whether you gave the orders that wait in it. It names the first broken event of each run and every other fault; the exit code is then 1.',
  flags: [jsonFlag, ...commonFlags, ...serverFlags],
  positionals: { min: 0, max: 1 },
  examples: [['retinue verify', 'everything in the database']],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [id] = args.positionals;
  const result = await withApi(io, { flags: commonSettings(args), drive: false }, (api) => api.verify(id));
  const { trees, runs, facts, erased, broken, faults } = result;
  const isIntact = broken.length === 0 && faults.length === 0;
  if (args.has('json')) printJson(io, result);
  else {
    const label = paint(io.colour.out, 'red', 'broken');
    for (const { where, what } of faults) io.out(`${label} ${sanitizeLine(where)}: ${sanitizeLine(what)}\n`);
    for (const { runId, seq, what } of broken)
      io.out(`${label} ${sanitizeLine(runId)}${seq === 0 ? '' : ` event ${seq}`}: ${sanitizeLine(what)}\n`);
    const erasedText = erased === 0 ? '' : ` (${formatCount(erased)} erased)`;
    const total = `${count(facts, 'event')}${erasedText} of ${count(runs, 'run')} in ${count(trees, 'tree')}`;
    io.out(isIntact ? `${paint(io.colour.out, 'green', 'intact')} ${total}\n` : `${broken.length + faults.length} broken, of ${total}\n`);
  }
  return isIntact ? 0 : 1;
}

/** Databases can have millions of events, so the numbers are abbreviated. */
function count(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`;
}
