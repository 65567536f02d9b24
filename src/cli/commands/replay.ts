import type { ReplayResult } from '../../records/replay.ts';
import { cleanJson, cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import { paint, shortId } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';

/** Makes the kernel's decisions again over the recorded facts. Exit code 1 where one comes out otherwise. */
export async function run(args: Args, io: Io): Promise<number> {
  const [word] = args.words as [string];
  const replayed = await withApi(io, { flags: groundFlags(args), drive: false }, async (api) => api.replay(await api.find(word)));
  if (args.has('json')) printJson(io, replayed);
  else for (const each of replayed) io.out(`${line(each, io.colour.out)}\n`);
  return replayed.every((each) => each.difference === null) ? 0 : 1;
}

function line({ runId, facts, requests, difference }: ReplayResult, colour: boolean): string {
  const what = `${shortId(runId)} ${facts} facts · ${requests} ${requests === 1 ? 'request' : 'requests'} · 0 outside calls`;
  if (!difference) return `${what} · ${paint(colour, 'green', 'the same')}`;
  const { seq, type, what: differs, recorded, rebuilt } = difference;
  const head = paint(colour, 'red', `differs at fact ${seq} (${type}): ${cleanLine(differs)}`);
  return `${what} · ${head}\n  recorded: ${cleanJson(recorded)}\n  rebuilt:  ${cleanJson(rebuilt)}`;
}
