import { RetinueError } from '../../contract/error.ts';
import type { ErasedTree, EraseSize } from '../../records/erase.ts';
import type { Args } from '../flags.ts';
import { bytes, plural } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';

/** Erases what ended trees said. Exit code 1 where the answer is no. */
export async function run(args: Args, io: Io): Promise<number> {
  return withApi(io, { flags: groundFlags(args), drive: false }, async (api) => {
    const weight = await api.weigh(args.words);
    if (!args.has('yes') && weight.facts > 0 && !(await agreed(io, weight))) {
      io.err('retinue: nothing was erased\n');
      return 1;
    }
    const erased = await api.erase(weight.rootIds);
    if (args.has('json')) printJson(io, erased.map(shape));
    else for (const each of erased) io.out(`${line(each)}\n`);
    return 0;
  });
}

async function agreed(io: Io, { rootIds, facts, bytes: size }: EraseSize): Promise<boolean> {
  const what = `${plural(rootIds.length, 'tree')} (${plural(facts, 'fact')}, ${bytes(size)}): ${rootIds.join(', ')}`;
  const answer = await io.ask(`Erase for good what was said in ${what}? Hashes stay. [y/N] `);
  if (answer === null) throw new RetinueError('usage', 'nobody can be asked here: run `retinue rm` in a terminal, or add --yes');
  return /^y(es)?$/i.test(answer.trim());
}

function line({ rootId, result, facts, bytes: size }: ErasedTree): string {
  if (result === 'already') return `${rootId} was erased already`;
  return `erased ${rootId}: ${plural(facts, 'fact')}, ${bytes(size)}`;
}

function shape({ rootId, result, facts, bytes: size }: ErasedTree): ErasedTree {
  return { rootId, result, facts, bytes: size };
}
