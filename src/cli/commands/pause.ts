import type { Args } from '../flags.ts';
import { shortId } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';

const words = { paused: 'is paused', already: 'had ended, was paused already, or no process drives it' };

export async function run(args: Args, io: Io): Promise<number> {
  const reason = args.value('reason') ?? 'paused on the command line';
  const results = await withApi(io, { flags: groundFlags(args), drive: true }, async (api) => {
    const ids = await Promise.all(args.words.map((word) => api.find(word)));
    return api.pause(ids, reason);
  });
  if (args.has('json')) printJson(io, results);
  else for (const { runId, result } of results) io.out(`${shortId(runId)} ${words[result]}\n`);
  return 0;
}
