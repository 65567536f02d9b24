import type { ImportResult } from '../../records/import-tree.ts';
import type { Args } from '../flags.ts';
import { plural, shortId } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';

/** Reads an export into this workspace's database. */
export async function run(args: Args, io: Io): Promise<number> {
  const [file] = args.words as [string];
  const lines = io.lines(file);
  const imported = await withApi(io, { flags: groundFlags(args), drive: true }, (api) =>
    api.import(lines, { unfinished: args.has('unfinished') }),
  );
  if (args.has('json')) printJson(io, shape(imported));
  else {
    const { rootId, runs, facts, result } = imported;
    const what = result === 'already' ? 'already here' : 'imported';
    io.out(`${what} ${rootId}: ${plural(runs, 'run')}, ${plural(facts, 'fact')}\n`);
  }
  const { rootId, unfinished, result } = imported;
  if (unfinished > 0 && result === 'imported') {
    io.err(
      `retinue: ${plural(unfinished, 'run')} of it ${unfinished === 1 ? 'has' : 'have'} not ended. \`retinue resume\` goes on with the rights\n`,
    );
    io.err(
      `retinue: and in the workspace that the file records: look at \`retinue show ${shortId(rootId)}\` first, or \`retinue cancel\` it\n`,
    );
  }
  return 0;
}

function shape({ rootId, runs, facts, lastHash, result, unfinished }: ImportResult): ImportResult {
  return { rootId, runs, facts, lastHash, result, unfinished };
}
