import { RetinueError } from '../../contract/error.ts';
import { attend } from '../attend.ts';
import type { DetachRequest, Io } from '../io.ts';
import { withApi } from '../session.ts';

/**
 * The background process of `run --detach`: drives the run to its end like `run` does, with its lines going to a log. `started` is
 * told the id as soon as the run is created. Rejects with the refusal where it is not.
 */
export async function runDetached(io: Io, { flags, brief, open }: DetachRequest, started: (runId: string) => void): Promise<number> {
  const { agent } = brief as { agent?: string };
  return withApi(io, { flags, ...open, drive: true, startsRuns: true, agents: { chosen: agent } }, async (api) => {
    const start = async () => {
      const handle = await api.start(brief);
      started(handle.id);
      return handle;
    };
    const code = await attend(io, api, { json: false, stream: false, plain: true, start });
    if (code === null) throw new RetinueError('internal', 'nothing was started');
    return code;
  });
}
