import { attend } from '../attend.ts';
import type { Args } from '../flags.ts';
import { shortId } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { dialectOfRun, groundFlags, withApi } from '../session.ts';
import { mannerOf } from './run.ts';

export async function run(args: Args, io: Io): Promise<number> {
  const manner = mannerOf(args);
  const [word, ...text] = args.words as [string, ...string[]];
  const ground = { flags: groundFlags(args), drive: true, agents: { chosen: undefined } };
  return withApi(io, { ...ground, dialect: (api) => dialectOfRun(api, word) }, async (api) => {
    const id = await api.find(word);
    // A finished run answers in a new run of this process, which is attended like any other.
    const start = async () => {
      const result = await api.message(id, text.join(' '));
      return result.kind === 'continued' ? result.handle : null;
    };
    const code = await attend(io, api, { ...manner, start });
    if (code !== null) return code;
    if (manner.json) printJson(io, { runId: id, result: 'sent' });
    else io.out(`${shortId(id)} reads it at its next turn\n`);
    return 0;
  });
}
