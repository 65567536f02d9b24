// `run --server`: starts a run on a server and shows it here.
import type { Json } from '../../contract/json.ts';
import { shortId } from '../../views/format.ts';
import type { CommandSettings, OutputMode } from '../args/settings-flags.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from './open-api.ts';
import type { JobFlags } from './queues.ts';
import { followQueuedRun } from './run-in-queue.ts';
import { runToEnd } from './run-to-end.ts';

export interface ServerRun {
  flags: CommandSettings;
  brief: unknown;
  mode: OutputMode;
  /** Leave it to a worker of the server's database. */
  job: JobFlags | null;
  /** Return when the run has started. */
  isDetached: boolean;
}

/** The exit code. Ctrl-C cancels the run, SIGTERM only stops watching it. */
export async function runOnServer(io: Io, { flags, brief, mode, job, isDetached }: ServerRun): Promise<number> {
  return withApi(io, { flags, drive: true }, async (api) => {
    if (job !== null) {
      const queued = await api.enqueue(brief, { job, trace: io.trace });
      return followQueuedRun(io, api, { ...queued, job, mode, isDetached });
    }
    if (!isDetached) return (await runToEnd(io, api, { ...mode, start: () => api.start(brief) })) ?? 0;
    const { id: runId } = await api.start(brief);
    if (mode.json) printJson(io, { runId } satisfies Json);
    else io.out(`${runId}\n`);
    const [id, server] = [shortId(runId), `--server ${api.server?.url}`];
    io.err(
      `retinue: running on the server: retinue logs ${id} -f ${server} · retinue wait ${id} ${server} · retinue cancel ${id} ${server}\n`,
    );
    return 0;
  });
}
