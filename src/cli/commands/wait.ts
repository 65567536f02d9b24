import type { Api } from '../../api/api.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { parseDurationFlag } from '../args/flag-values.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, unlimited } from '../command.ts';
import { exitCodes } from '../errors.ts';
import type { Io } from '../io.ts';
import { formatOutcomeLine } from '../output/describe-fact.ts';
import { shortId } from '../output/format.ts';
import { outcomeToJson, printJson } from '../output/json.ts';
import { withApi } from '../session/open-api.ts';
import { orphanMessage, watchForOrphans } from '../session/orphan-watch.ts';
import { outcomeToText } from '../session/run-to-end.ts';

export const waitCommand: Command = {
  name: 'wait',
  group: 'watch',
  usage: 'ID… [--any] [--timeout TIME] [flags]',
  summary: 'wait until runs have ended and print their results',
  about:
    'The exit code is that of the first given run that did not complete. --json prints an array of outcomes in the order given, with null for runs that have not ended.',
  flags: [
    { name: 'any', help: 'return when one of them has ended' },
    { name: 'timeout', value: 'TIME', help: 'stop waiting after `90s`, `10m`, …, with exit code 4; the runs continue' },
    jsonFlag,
    ...commonFlags,
  ],
  positionals: { min: 1, max: unlimited },
  examples: [['retinue wait 7f3a 91bc --any --timeout 5m', 'the first of two runs to end']],
  exitCodes: 'outcome',
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const timeout = args.value('timeout');
  const timeoutMs = timeout === undefined ? null : parseDurationFlag('--timeout', timeout);
  return withApi(io, { flags: commonSettings(args), drive: false }, async (api) => {
    const ids = await Promise.all(args.positionals.map((id) => api.find(id)));
    const { outcomes, stopped } = await waitForRuns(io, api, { ids, any: args.has('any'), timeoutMs });
    if (args.has('json'))
      printJson(
        io,
        outcomes.map((outcome) => outcome && outcomeToJson(outcome)),
      );
    else printOutcomes(io, outcomes);
    if (stopped === 'interrupt') return 130;
    const open = ids.filter((_, i) => outcomes[i] === null).map(shortId);
    if (stopped === 'orphaned') {
      io.err(`retinue: ${open.join(', ')} ${orphanMessage}\n`);
      return 1;
    }
    if (stopped === 'timeout') {
      io.err(`retinue: not ended after ${timeout}: ${open.join(', ')}\n`);
      return exitCodes.timed_out;
    }
    return outcomes.map((outcome) => (outcome ? exitCodes[outcome.status] : 0)).find((code) => code !== 0) ?? 0;
  });
}

type StopCause = 'interrupt' | 'timeout' | 'orphaned';

async function waitForRuns(
  io: Io,
  api: Api,
  { ids, any, timeoutMs }: { ids: string[]; any: boolean; timeoutMs: number | null },
): Promise<{ outcomes: (Outcome | null)[]; stopped: StopCause | null }> {
  const stop = new AbortController();
  let stopped: StopCause | null = null;
  const end = (why: StopCause) => {
    stopped ??= why;
    stop.abort();
  };
  const release = io.onInterrupt(() => {
    if (stop.signal.aborted) io.exitNow(130);
    end('interrupt');
  });
  const stopTimer = timeoutMs === null ? () => {} : io.repeat(timeoutMs, () => end('timeout'));
  const stopWatch = watchForOrphans(io, api, { ids, any, onOrphan: () => end('orphaned') });
  try {
    const outcomes = await api.wait(ids, { any, signal: stop.signal });
    const isDone = any ? outcomes.some((outcome) => outcome !== null) : outcomes.every((outcome) => outcome !== null);
    return { outcomes, stopped: isDone ? null : stopped };
  } catch (error) {
    if (stopped === null) throw error;
    // Some may have ended nevertheless, and their outcomes are worth printing.
    return { outcomes: await Promise.all(ids.map(async (id) => (await api.show(id)).outcome)), stopped };
  } finally {
    stopTimer();
    stopWatch();
    release();
  }
}

/** The result of a single run, as `run` prints it; one line each for several. */
function printOutcomes(io: Io, outcomes: (Outcome | null)[]): void {
  const [only] = outcomes;
  if (outcomes.length === 1 && only) {
    io.out(outcomeToText(only));
    io.err(`${formatOutcomeLine(only, io.colour.err)}\n`);
  } else for (const outcome of outcomes) if (outcome) io.out(`${formatOutcomeLine(outcome, io.colour.out)}\n`);
}
