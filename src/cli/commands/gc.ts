import { RetinueError } from '../../contract/error.ts';
import type { EraseSize } from '../../records/erase.ts';
import { describeFreedBytes, formatBytes, formatPlural } from '../../views/format.ts';
import { parseAgeFlag } from '../args/flag-values.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, writingFlags, yesFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { confirm } from '../session/confirm.ts';
import { withApi } from '../session/open-api.ts';

export const gcCommand: Command = {
  name: 'gc',
  group: 'records',
  usage: '--older-than AGE [--dry-run] [flags]',
  summary: 'erase the content of all runs that ended long ago',
  about:
    'Erases like `retinue rm` every tree that ended longer ago than AGE (`12h`, `30d`, `8w`). It asks for confirmation only if AGE is less than an hour. Then it returns the space to the file system and says how much that was; while other processes use the database, that may be less.',
  flags: [
    { name: 'older-than', value: 'AGE', help: 'the minimum time since the end of a tree' },
    { name: 'dry-run', help: 'only print what would be erased' },
    { ...yesFlag, help: 'do not ask for confirmation; required for an age of less than an hour without a terminal' },
    jsonFlag,
    ...writingFlags,
  ],
  positionals: { min: 0, max: 0 },
  examples: [['retinue gc --older-than 30d --dry-run', 'shows what would be erased']],
  exitCodes: 'command',
  changes: (args) => !args.has('dry-run'),
  run,
};

/** A smaller age is often a mistake: `0s` is everything, and `1m` is a minute. */
const askBelowMs = 3_600_000;

/** Exit code 1 if the user declines. */
async function run(args: Args, io: Io): Promise<number> {
  const age = args.value('older-than');
  if (age === undefined)
    throw new RetinueError('usage', '--older-than AGE is missing, for example --older-than 30d; --dry-run shows what would be erased');
  const ageMs = parseAgeFlag('--older-than', age);
  const before = new Date(io.now() - ageMs).toISOString();
  const dryRun = args.has('dry-run');
  return withApi(io, { flags: commonSettings(args), drive: false, writes: !dryRun }, async (api) => {
    const size = await api.weigh(await api.endedBefore(before));
    const { rootIds, facts, bytes } = size;
    const mustAsk = !dryRun && ageMs < askBelowMs && rootIds.length > 0 && !args.has('yes');
    if (mustAsk && !(await confirm(io, `Erase the content of ${describeSize(size)}, of all runs that ended more than ${age} ago?`))) {
      io.err('retinue: nothing was erased\n');
      return 1;
    }
    const freedBytes = dryRun ? null : (await api.erase(rootIds)).freedBytes;
    if (args.has('json')) printJson(io, { before, dryRun, trees: rootIds, facts, bytes, freedBytes });
    else {
      if (dryRun) for (const rootId of rootIds) io.out(`${rootId}\n`);
      io.out(`${dryRun ? 'would erase' : 'erased'} ${describeSize(size)}\n`);
      if (rootIds.length > 0 && freedBytes !== null) io.out(`${describeFreedBytes(freedBytes)}\n`);
    }
    return 0;
  });
}

function describeSize({ rootIds, facts, bytes }: EraseSize): string {
  return `${formatPlural(rootIds.length, 'tree')}: ${formatPlural(facts, 'event')}, ${formatBytes(bytes)}`;
}
