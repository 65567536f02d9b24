import { cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import { count, paint } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';

/** Checks the hash chain of all runs, or of the tree of one. Exit code 1 where it is broken. */
export async function run(args: Args, io: Io): Promise<number> {
  const [word] = args.words;
  const verified = await withApi(io, { flags: groundFlags(args), drive: false }, (api) => api.verify(word));
  const { trees, runs, facts, erased, broken } = verified;
  if (args.has('json')) printJson(io, verified);
  else {
    for (const { runId, seq, what } of broken)
      io.out(`${paint(io.colour.out, 'red', 'broken')} ${runId} fact ${seq}: ${cleanLine(what)}\n`);
    const gone = erased === 0 ? '' : ` (${count(erased)} erased)`;
    const sum = `${count(facts)} facts${gone} of ${count(runs)} runs in ${count(trees)} trees`;
    io.out(broken.length === 0 ? `${paint(io.colour.out, 'green', 'intact')} ${sum}\n` : `${broken.length} broken, of ${sum}\n`);
  }
  return broken.length === 0 ? 0 : 1;
}
