import { RetinueError } from '../../contract/error.ts';
import { attend } from '../attend.ts';
import type { Args } from '../flags.ts';
import { shortId } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { askOf, dialectOfRun, groundFlags, withApi } from '../session.ts';
import { mannerOf } from './run.ts';

export async function run(args: Args, io: Io): Promise<number> {
  const manner = mannerOf(args);
  const [word, ...text] = args.words as [string, ...string[]];
  const ground = { flags: groundFlags(args), drive: true, agents: { chosen: undefined }, askMs: askOf(args, io) };
  const rules = args.given.filter(({ name }) => name === 'deny').map(({ value }) => `deny ${value}`);
  if (text.length === 0 && rules.length === 0) throw new RetinueError('usage', 'something is missing: the text, or a rule with --deny');
  return withApi(io, { ...ground, dialect: (api) => dialectOfRun(api, word) }, async (api) => {
    const id = await api.find(word);
    // A finished run answers in a new run of this process, which is attended like any other.
    const start = async () => {
      const result = await api.message(id, text.join(' '), { rules });
      return result.kind === 'continued' ? result.handle : null;
    };
    const code = await attend(io, api, { ...manner, start });
    if (code !== null) return code;
    if (manner.json) printJson(io, { runId: id, result: 'sent' });
    else io.out(`${shortId(id)} reads it at its next turn\n`);
    return 0;
  });
}
