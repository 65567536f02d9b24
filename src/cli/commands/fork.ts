import { RetinueError } from '../../contract/error.ts';
import { attend } from '../attend.ts';
import type { Args } from '../flags.ts';
import type { Io } from '../io.ts';
import { askOf, dialectOfRun, groundFlags, withApi } from '../session.ts';
import { wholeFlag } from '../values.ts';
import { mannerOf } from './run.ts';

const goOn = 'Go on with the task from here.';

/** Starts a new run from a recorded turn of another, and attends it. */
export async function run(args: Args, io: Io): Promise<number> {
  const manner = mannerOf(args);
  const [word, ...text] = args.words as [string, ...string[]];
  const at = args.value('at');
  if (at === undefined) throw new RetinueError('usage', 'which turn? Write --at TURN; `retinue logs ID` shows the turns of a run');
  const turn = wholeFlag('--at', at, { min: 1, max: 1_000_000 });
  const task = text.join(' ').trim() === '' ? goOn : text.join(' ');
  const ground = { flags: groundFlags(args), drive: true, startsRuns: true, agents: { chosen: undefined }, askMs: askOf(args, io) };
  return withApi(io, { ...ground, dialect: (api) => dialectOfRun(api, word) }, async (api) => {
    const id = await api.find(word);
    return (await attend(io, api, { ...manner, start: () => api.fork(id, { turn, task, model: args.value('model') }) })) ?? 0;
  });
}
