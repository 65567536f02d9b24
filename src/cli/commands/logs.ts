import type { Api } from '../../api/api.ts';
import type { ErasedFact, Fact } from '../../contract/fact.ts';
import type { Activity } from '../../ports/dialect.ts';
import { activityText, createActivities } from '../activity.ts';
import { createDescriber } from '../describe.ts';
import type { Args } from '../flags.ts';
import { paint, shortId } from '../format.ts';
import { goneText, lookForGone } from '../gone.ts';
import type { Io, Stop } from '../io.ts';
import { factJson, factLine, printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';
import { cut, pad } from '../width.ts';

export async function run(args: Args, io: Io): Promise<number> {
  const [word] = args.words as [string];
  const [json, tree] = [args.has('json'), args.has('tree')];
  const line = json ? factLine : lineWriter(io);
  return withApi(io, { flags: groundFlags(args), drive: false }, async (api) => {
    const id = await api.find(word);
    const activity = createActivities(api);
    if (args.has('follow')) return follow(io, api, { id, tree, line: async (fact) => line(fact, await activity(fact)) });
    const facts: { fact: Fact | ErasedFact; entry: Activity | null }[] = [];
    for (const fact of await api.logs(id, { tree })) facts.push({ fact, entry: 'erased' in fact ? null : await activity(fact) });
    if (json)
      printJson(
        io,
        facts.map(({ fact, entry }) => factJson(fact, entry)),
      );
    else io.out(facts.map(({ fact, entry }) => line(fact, entry)).join(''));
    return 0;
  });
}

interface Follow {
  id: string;
  tree: boolean;
  line(fact: Fact): Promise<string>;
}

async function follow(io: Io, api: Api, { id, tree, line }: Follow): Promise<number> {
  const stop = new AbortController();
  let ended: Stop | 'gone' | null = null;
  let after: string | undefined;
  const end = (why: typeof ended) => {
    ended ??= why;
    stop.abort();
  };
  const unlook = lookForGone(io, api, { ids: [id], any: false, gone: () => end('gone') });
  const release = io.onInterrupt((why) => (stop.signal.aborted ? io.exitNow(130) : end(why)));
  const print = async (fact: Fact & { position: string }) => {
    io.out(await line(fact));
    after = fact.position;
  };
  try {
    for await (const fact of api.follow(id, { tree, signal: stop.signal })) await print(fact);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    unlook();
    release();
  }
  if (ended !== 'gone') return ended === null || ended === 'closed' ? 0 : 130;
  const rest = await api.logs(id, { tree, ...(after === undefined ? {} : { after }) });
  for (const fact of rest) if (!('erased' in fact)) await print(fact);
  io.err(`retinue: ${shortId(id)} ${goneText}\n`);
  return 0;
}

/** Time, run, type and words. On a terminal a line is cut to its width; in a pipe it is whole. */
function lineWriter(io: Io): (fact: Fact | ErasedFact, activity: Activity | null) => string {
  const words = createDescriber();
  return (fact, activity) => {
    if ('erased' in fact) return written(fact, fact.type, 'erased');
    const entry = activity === null ? '' : written(fact, 'activity', activityText(activity));
    return written(fact, fact.type, words(fact)) + entry;
  };

  function written(fact: Fact | ErasedFact, name: string, said: string): string {
    const head = `${fact.at.slice(11, 23)} ${shortId(fact.runId)} `;
    const type = pad(name, 17);
    const room = io.outTTY ? io.columns() - head.length - type.length - 1 : 2000;
    const text = cut(said, Math.max(10, room));
    return `${paint(io.colour.out, 'dim', head)}${paint(io.colour.out, 'cyan', type)} ${text}`.trimEnd().concat('\n');
  }
}
