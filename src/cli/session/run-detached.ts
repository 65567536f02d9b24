// The background process of `run --detach`: drives the run to its end like `run`, with its output in a log file.
import { RetinueError } from '../../contract/error.ts';
import type { DetachRequest, Io } from '../io.ts';
import { withLocalApi } from './open-api.ts';
import { runToEnd } from './run-to-end.ts';

/** Calls `onStart` with the id as soon as the run is created. Rejects with the refusal if it is not. */
export async function runDetached(io: Io, { flags, brief, flow, open }: DetachRequest, onStart: (runId: string) => void): Promise<number> {
  const { agent } = (brief ?? {}) as { agent?: string };
  return withLocalApi(io, { flags, ...open, drive: true, startsRuns: true, agents: { chosen: agent } }, async (api, settings) => {
    const start = async () => {
      const handle = flow ? await io.flows.start(api, settings, flow) : await api.start(brief, { trace: io.trace });
      onStart(handle.id);
      return handle;
    };
    const code = await runToEnd(io, api, { json: false, stream: false, plain: true, start });
    if (code === null) throw new RetinueError('internal', 'no run was started');
    return code;
  });
}
