import { RetinueError } from '../../contract/error.ts';
import type { Args } from '../flags.ts';
import { bytes, plural } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';
import { ageFlag } from '../values.ts';

/** Erases what trees said that ended long ago; with --dry-run only says what that would free. */
export async function run(args: Args, io: Io): Promise<number> {
  const age = args.value('older-than');
  if (age === undefined) throw new RetinueError('usage', 'how old? Write --older-than 30d; --dry-run shows what would be erased');
  const before = new Date(io.now() - ageFlag('--older-than', age)).toISOString();
  const dryRun = args.has('dry-run');
  return withApi(io, { flags: groundFlags(args), drive: false }, async (api) => {
    const found = await api.weigh(await api.endedBefore(before));
    if (!dryRun) await api.erase(found.rootIds);
    const { rootIds, facts, bytes: size } = found;
    if (args.has('json')) printJson(io, { before, dryRun, trees: rootIds, facts, bytes: size });
    else {
      if (dryRun) for (const rootId of rootIds) io.out(`${rootId}\n`);
      io.out(`${dryRun ? 'would erase' : 'erased'} ${plural(rootIds.length, 'tree')}: ${plural(facts, 'fact')}, ${bytes(size)}\n`);
    }
    return 0;
  });
}
