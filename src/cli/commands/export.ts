import { RetinueError } from '../../contract/error.ts';
import { cleanJson, cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import { plural } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';

/** Writes the tree of a run as JSON Lines. */
export async function run(args: Args, io: Io): Promise<number> {
  const [word] = args.words as [string];
  const file = args.value('output') ?? null;
  if (args.has('json') && file === null)
    throw new RetinueError(
      'usage',
      '--json says what was written to a file: give --output FILE too; without it the export itself is printed',
    );
  return withApi(io, { flags: groundFlags(args), drive: false }, async (api) => {
    const { header, lines } = await api.export(word, { live: args.has('live') });
    const output = await io.output(file);
    try {
      await output.write(`${cleanJson(header)}\n`);
      for await (const line of lines) await output.write(`${cleanJson(line)}\n`);
      await output.end();
    } catch (error) {
      await output.drop();
      throw error;
    }
    const { rootId, runs, facts, lastHash } = header;
    if (args.has('json')) printJson(io, { rootId, runs, facts, lastHash, file });
    else if (file !== null) io.out(`exported ${rootId} to ${cleanLine(file)}: ${plural(runs, 'run')}, ${plural(facts, 'fact')}\n`);
    return 0;
  });
}
