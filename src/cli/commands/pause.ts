import type { RunDetail } from '../../api/api.ts';
import { describeDeadline, formatInstant, formatStatus, shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, serverFlags, unlimited, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';

export const pauseCommand: Command = {
  name: 'pause',
  group: 'control',
  usage: 'ID… [--reason TEXT] [flags]',
  summary: 'pause runs and their children before their next step',
  about:
    'Calls that are running finish first; the command returns when nothing of the runs is running. Ctrl-C stops waiting for that; the request stays. Continue a run with `retinue resume ID` or `retinue message ID TEXT`. Its time limit keeps counting.',
  flags: [{ name: 'reason', value: 'TEXT', mayBeEmpty: true, help: 'the reason to record' }, jsonFlag, ...writingFlags, ...serverFlags],
  positionals: { min: 1, max: unlimited },
  examples: [['retinue pause last', 'then look at it, and continue with `retinue resume last`']],
  exitCodes: 'command',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const reason = args.value('reason') ?? 'paused on the command line';
  return withApi(io, { flags: commonSettings(args), drive: true, existingOnly: true }, async (api) => {
    const ids = await Promise.all(args.positionals.map((id) => api.find(id)));
    const before = await Promise.all(ids.map((id) => api.show(id)));
    const stopNotice = io.repeat(noticeMs, () => {
      io.err('retinue: waiting for calls that are running; Ctrl-C stops waiting, and the runs still pause after them\n');
      stopNotice();
    });
    const results = await api.pause(ids, reason).finally(stopNotice);
    const after = await Promise.all(ids.map((id) => api.show(id)));
    if (args.has('json')) printJson(io, results);
    else
      for (const [i, { runId, result }] of results.entries())
        io.out(`${describeResult({ runId, result, before: before[i] as RunDetail, after: after[i] as RunDetail }, io.now())}\n`);
    return 0;
  });
}

const noticeMs = 1500;

interface PauseOutcome {
  runId: string;
  result: 'paused' | 'already';
  /** The run when the command began, and when it was done. */
  before: RunDetail;
  after: RunDetail;
}

function describeResult({ runId, result, before, after }: PauseOutcome, now: number): string {
  const id = shortId(runId);
  const deadline = before.deadline === null ? '' : `; ${describeDeadline(before.deadline, now)}`;
  const howToContinue = `continue with \`retinue resume ${id}\`${deadline}`;
  if (result === 'paused') return `${id} is paused; ${howToContinue}`;
  if (before.endedAt !== null) return `${id} has already ended: ${formatStatus(before.status)}`;
  const until = before.pause?.until;
  if (before.status === 'paused') return `${id} is already paused${until ? ` until ${formatInstant(until, now)}` : ''}; ${howToContinue}`;
  if (before.status === 'queued') return `${id} waits for a worker, and only a running run can be paused; \`retinue cancel ${id}\` ends it`;
  if (after.endedAt === null && !after.driven) return `${id} is not running: its process has died; ${howToContinue}`;
  return `${id} ended before it could pause`;
}
