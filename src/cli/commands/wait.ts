import { shortId } from '../../views/format.ts';
import { parseDurationFlag } from '../args/flag-values.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, plainFlag, serverFlags, unlimited } from '../command.ts';
import { exitCodes } from '../errors.ts';
import type { Io } from '../io.ts';
import { createProgress } from '../progress/progress.ts';
import { withApi } from '../session/open-api.ts';
import { orphanMessage } from '../session/orphan-watch.ts';
import { printOutcomes, waitForRuns } from '../session/wait-for-runs.ts';

export const waitCommand: Command = {
  name: 'wait',
  group: 'watch',
  usage: 'ID… [--any] [--timeout TIME] [flags]',
  summary: 'watch runs until they have ended and print their results',
  about:
    'Shows the progress of the runs on standard error, like `retinue run`. Ctrl-C stops the waiting, not the runs. The exit code is that of the first given run that did not complete. --json prints an array of outcomes in the order given, with null for runs that have not ended.',
  flags: [
    { name: 'any', help: 'return when one of them has ended' },
    { name: 'timeout', value: 'TIME', help: 'stop waiting after `90s`, `10m`, …, with exit code 4; the runs continue' },
    jsonFlag,
    plainFlag,
    ...commonFlags,
    ...serverFlags,
  ],
  positionals: { min: 1, max: unlimited },
  examples: [
    ['retinue wait last', 'the newest run, with its progress and its result'],
    ['retinue wait 7f3a 91bc --any --timeout 5m', 'the first of two runs to end'],
  ],
  exitCodes: 'outcome',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const timeout = args.value('timeout');
  const timeoutMs = timeout === undefined ? null : parseDurationFlag('--timeout', timeout);
  return withApi(io, { flags: commonSettings(args), drive: false }, async (api) => {
    const ids = await Promise.all(args.positionals.map((id) => api.find(id)));
    const progress = createProgress(io, { stream: false, plain: args.has('plain') });
    const waiting = waitForRuns(io, api, { ids, any: args.has('any'), timeoutMs, progress });
    const { outcomes, stopped } = await waiting.finally(() => progress.end(null));
    printOutcomes(io, outcomes, { json: args.has('json'), progress });
    const open = ids
      .filter((_, i) => outcomes[i] === null)
      .map(shortId)
      .join(', ');
    switch (stopped) {
      case 'interrupt':
        io.err(`retinue: stopped waiting; not ended yet: ${open}\n`);
        return 130;
      case 'orphaned':
        io.err(`retinue: ${open} ${orphanMessage}\n`);
        return 1;
      case 'timeout':
        io.err(`retinue: not ended after ${timeout}: ${open}\n`);
        return exitCodes.timed_out;
      case null:
        return outcomes.map((outcome) => (outcome ? exitCodes[outcome.status] : 0)).find((code) => code !== 0) ?? 0;
    }
  });
}
