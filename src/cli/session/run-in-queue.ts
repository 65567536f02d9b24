// `run --queue`: leaves a run to a worker, and shows it here unless it is detached.
import type { Api } from '../../api/api.ts';
import type { Settings } from '../../config/settings.ts';
import { shortId } from '../../views/format.ts';
import { outcomeToJson } from '../../views/json.ts';
import type { OutputMode } from '../args/settings-flags.ts';
import { exitCodes } from '../errors.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { createProgress } from '../progress/progress.ts';
import { withFiles } from './brief-files.ts';
import { type SessionOptions, withLocalApi } from './open-api.ts';
import type { JobFlags } from './queues.ts';
import { printOutcomes, waitForRuns } from './wait-for-runs.ts';

export interface QueueRequest extends Pick<SessionOptions, 'flags' | 'agents'> {
  dialect: string | undefined;
  job: JobFlags;
  mode: OutputMode;
  files: { paths: string[]; input: string | null };
  createBrief(settings: Settings, paths: string[]): unknown;
  /** Return when the run is queued. */
  isDetached: boolean;
}

/** The exit code. */
export async function runInQueue(io: Io, { files, createBrief, ...request }: QueueRequest): Promise<number> {
  const { flags, agents, dialect, job } = request;
  return withLocalApi(io, { flags, ...(agents && { agents }), dialect, drive: true }, async (api, settings) => {
    const queued = await withFiles(io, { workspace: settings.workspace, ...files }, async (prepared) => {
      const brief = createBrief(
        settings,
        prepared.map(({ path }) => path),
      );
      const result = await api.enqueue(brief, { job, dialect, trace: io.trace });
      return { started: result, id: result.runId };
    });
    return followQueuedRun(io, api, { ...request, ...queued });
  });
}

/** The exit code. Ctrl-C and SIGTERM only stop watching: the run belongs to the queue. */
export async function followQueuedRun(
  io: Io,
  api: Api,
  { runId, isNew, job, mode, isDetached }: Pick<QueueRequest, 'job' | 'mode' | 'isDetached'> & { runId: string; isNew: boolean },
): Promise<number> {
  const id = shortId(runId);
  const server = api.server === undefined ? '' : ` --server ${api.server.url}`;
  const where = `in the queue \`${job.queue}\`${job.startAfter === undefined ? '' : `, not before ${job.startAfter}`}`;
  const state = isNew ? `is ${where}` : 'has this idempotency key already; nothing was queued';
  io.err(`retinue: run ${id} ${state}: retinue logs ${id} -f${server} · retinue wait ${id}${server} · retinue cancel ${id}${server}\n`);
  if (isDetached) {
    if (mode.json) printJson(io, { runId });
    else io.out(`${runId}\n`);
    return 0;
  }
  if (isNew) await warnWithoutWorker(io, api, job.queue);
  const progress = createProgress(io, mode);
  const waiting = waitForRuns(io, api, { ids: [runId], any: false, timeoutMs: null, progress });
  const { outcomes, stopped } = await waiting.finally(() => progress.end(null));
  const [outcome] = outcomes;
  if (outcome) {
    if (mode.json) printJson(io, outcomeToJson(outcome));
    else printOutcomes(io, [outcome], { json: false, progress });
    return exitCodes[outcome.status];
  }
  io.err(
    stopped === 'orphaned'
      ? `retinue: run ${id} is paused; \`retinue message ${id} TEXT\` or \`retinue resume ${id}\` continues it\n`
      : `retinue: stopped watching; run ${id} ${isNew ? `stays ${where}` : 'is not affected'}\n`,
  );
  return stopped === 'orphaned' ? 1 : 130;
}

export async function warnWithoutWorker(io: Io, api: Api, queue: string): Promise<void> {
  const { workers } = await api.queues();
  if (workers.some((worker) => worker.alive && worker.queues.includes(queue))) return;
  io.err(`retinue: no worker takes runs from \`${queue}\` now; start one with \`retinue worker --queue ${queue}\`\n`);
}
