import type { ErasedTree, EraseSize } from '../../records/erase.ts';
import { describeFreedBytes, formatBytes, formatPlural } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, unlimited, writingFlags, yesFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { confirm } from '../session/confirm.ts';
import { withApi } from '../session/open-api.ts';

export const rmCommand: Command = {
  name: 'rm',
  group: 'records',
  usage: 'ID… [--yes] [flags]',
  summary: 'erase the content of ended runs permanently, keeping only the hashes',
  about:
    'ID is a root run. It is erased with its descendants, the texts that only they refer to, its scratchpad and its log file. Of each event the number, time, type and hash remain, so `retinue verify` still works. A tree that has not ended is refused; cancel it first. Erasing cannot be undone.',
  flags: [{ ...yesFlag, help: 'do not ask for confirmation; required without a terminal' }, jsonFlag, ...writingFlags],
  positionals: { min: 1, max: unlimited },
  examples: [['retinue rm 7f3a', 'shows what would be erased and asks first']],
  exitCodes: 'command',
  changes: true,
  run,
};

/** Exit code 1 if the user declines. */
async function run(args: Args, io: Io): Promise<number> {
  return withApi(io, { flags: commonSettings(args), drive: false, writes: true }, async (api) => {
    const size = await api.weigh(args.positionals);
    if (!args.has('yes') && size.facts > 0 && !(await confirm(io, `Erase ${describeSize(size)} permanently? Hashes are kept.`))) {
      io.err('retinue: nothing was erased\n');
      return 1;
    }
    const { trees, freedBytes } = await api.erase(size.rootIds);
    if (args.has('json')) printJson(io, trees.map(resultToJson));
    else {
      for (const tree of trees) io.out(`${describeResult(tree)}\n`);
      if (size.facts > 0 && freedBytes !== null) io.out(`${describeFreedBytes(freedBytes)}\n`);
    }
    return 0;
  });
}

function describeSize({ rootIds, facts, bytes }: EraseSize): string {
  return `the content of ${formatPlural(rootIds.length, 'tree')} (${formatPlural(facts, 'event')}, ${formatBytes(bytes)}): ${rootIds.join(', ')}`;
}

function describeResult({ rootId, result, facts, bytes }: ErasedTree): string {
  if (result === 'already') return `${rootId} was erased already`;
  return `erased ${rootId}: ${formatPlural(facts, 'event')}, ${formatBytes(bytes)}`;
}

/** Fixes the order of keys. */
function resultToJson({ rootId, result, facts, bytes }: ErasedTree): ErasedTree {
  return { rootId, result, facts, bytes };
}
