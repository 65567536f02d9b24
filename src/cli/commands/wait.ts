import type { Api } from '../../api/api.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { resultText } from '../attend.ts';
import { cleanLine } from '../clean.ts';
import { ended } from '../describe.ts';
import { exitCodes } from '../errors.ts';
import type { Args } from '../flags.ts';
import { paint, shortId, statusStyle } from '../format.ts';
import { goneText, lookForGone } from '../gone.ts';
import type { Io } from '../io.ts';
import { outcomeJson, printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';
import { durationFlag } from '../values.ts';

export async function run(args: Args, io: Io): Promise<number> {
  const timeout = args.value('timeout');
  const ms = timeout === undefined ? null : durationFlag('--timeout', timeout);
  return withApi(io, { flags: groundFlags(args), drive: false }, async (api) => {
    const ids = await Promise.all(args.words.map((word) => api.find(word)));
    const { outcomes, stopped } = await waited(io, api, { ids, any: args.has('any'), ms });
    if (args.has('json'))
      printJson(
        io,
        outcomes.map((outcome) => outcome && outcomeJson(outcome)),
      );
    else print(io, outcomes);
    if (stopped === 'interrupt') return 130;
    const open = ids.filter((_, i) => outcomes[i] === null).map(shortId);
    if (stopped === 'gone') {
      io.err(`retinue: ${open.join(', ')} ${goneText}\n`);
      return 1;
    }
    if (stopped === 'timeout') {
      io.err(`retinue: still not ended after ${timeout}: ${open.join(', ')}\n`);
      return exitCodes.timed_out;
    }
    return outcomes.map((outcome) => (outcome ? exitCodes[outcome.status] : 0)).find((code) => code !== 0) ?? 0;
  });
}

type Stopped = 'interrupt' | 'timeout' | 'gone' | null;

async function waited(
  io: Io,
  api: Api,
  asked: { ids: string[]; any: boolean; ms: number | null },
): Promise<{ outcomes: (Outcome | null)[]; stopped: Stopped }> {
  const stop = new AbortController();
  let stopped: Stopped = null;
  const end = (why: Stopped) => {
    stopped ??= why;
    stop.abort();
  };
  const release = io.onInterrupt(() => {
    if (stop.signal.aborted) io.exitNow(130);
    end('interrupt');
  });
  const unset = asked.ms === null ? () => {} : io.repeat(asked.ms, () => end('timeout'));
  const unlook = lookForGone(io, api, { ...asked, gone: () => end('gone') });
  try {
    const outcomes = await api.wait(asked.ids, { any: asked.any, signal: stop.signal });
    const done = asked.any ? outcomes.some((o) => o !== null) : outcomes.every((o) => o !== null);
    return { outcomes, stopped: done ? null : stopped };
  } catch (error) {
    if (stopped === null) throw error;
    // Some may have ended all the same, and their outcomes are worth printing.
    return { outcomes: await Promise.all(asked.ids.map(async (id) => (await api.show(id)).outcome)), stopped };
  } finally {
    unset();
    unlook();
    release();
  }
}

/** One run is shown as `run` shows it; of several, a line each. */
function print(io: Io, outcomes: (Outcome | null)[]): void {
  const [only] = outcomes;
  if (outcomes.length === 1 && only) {
    io.out(resultText(only));
    io.err(`${line(only, io.colour.err)}\n`);
  } else for (const outcome of outcomes) if (outcome) io.out(`${line(outcome, io.colour.out)}\n`);
}

function line(outcome: Outcome, colour: boolean): string {
  return `${shortId(outcome.runId)} ${paint(colour, statusStyle[outcome.status], cleanLine(ended(outcome)))}`;
}
