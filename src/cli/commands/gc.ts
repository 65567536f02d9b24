import { RetinueError } from '../../contract/error.ts';
import { parseAgeFlag } from '../args/flag-values.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { formatBytes, formatPlural } from '../output/format.ts';
import { printJson } from '../output/json.ts';
import { withApi } from '../session/open-api.ts';

export const gcCommand: Command = {
  name: 'gc',
  group: 'records',
  usage: '--older-than AGE [--dry-run] [flags]',
  summary: 'erase the content of all runs that ended long ago',
  about: 'Erases like `retinue rm`, without asking, every tree that ended longer ago than AGE (`12h`, `30d`, `8w`).',
  flags: [
    { name: 'older-than', value: 'AGE', help: 'the minimum time since the end of a tree' },
    { name: 'dry-run', help: 'only print what would be erased' },
    jsonFlag,
    ...commonFlags,
  ],
  positionals: { min: 0, max: 0 },
  examples: [['retinue gc --older-than 30d --dry-run', 'shows what would be erased']],
  exitCodes: 'command',
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const age = args.value('older-than');
  if (age === undefined)
    throw new RetinueError('usage', '--older-than AGE is missing, for example --older-than 30d; --dry-run shows what would be erased');
  const before = new Date(io.now() - parseAgeFlag('--older-than', age)).toISOString();
  const dryRun = args.has('dry-run');
  return withApi(io, { flags: commonSettings(args), drive: false }, async (api) => {
    const size = await api.weigh(await api.endedBefore(before));
    const { rootIds, facts, bytes } = size;
    if (!dryRun) await api.erase(rootIds);
    if (args.has('json')) printJson(io, { before, dryRun, trees: rootIds, facts, bytes });
    else {
      if (dryRun) for (const rootId of rootIds) io.out(`${rootId}\n`);
      const verb = dryRun ? 'would erase' : 'erased';
      io.out(`${verb} ${formatPlural(rootIds.length, 'tree')}: ${formatPlural(facts, 'event')}, ${formatBytes(bytes)}\n`);
    }
    return 0;
  });
}
