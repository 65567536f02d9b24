import type { Settings } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { attend } from '../attend.ts';
import type { Args } from '../flags.ts';
import type { Io } from '../io.ts';
import { runFlags, withApi } from '../session.ts';

const defaultTimeoutSeconds = 300;

/** One delegated task as a whole program: a fresh context, no delegation, one outcome as JSON. With --envelope it speaks rx's instead. */
export async function run(args: Args, io: Io): Promise<number> {
  if (args.has('envelope')) return (await import('../envelope.ts')).runEnvelope(args, io);
  const task = args.value('task')?.trim() ?? '';
  if (task === '') throw new RetinueError('usage', 'a task is missing; write `retinue subagent --task "what to do"`');
  const context = args.value('context');
  const flags = runFlags(args);
  const brief = (settings: Settings) => ({
    task: context === undefined ? task : `Context: ${context}\n\nTask: ${task}`,
    ...(args.value('agent') === undefined ? {} : { agent: args.value('agent') }),
    ...(flags.model === undefined ? {} : { model: flags.model }),
    limits: { timeoutMs: timeoutMs(settings), ...flags.limits, maxDepth: 0 },
  });
  return withApi(io, { flags, drive: true, startsRuns: true, agents: { chosen: args.value('agent') } }, async (api, settings) => {
    const start = () => api.start(brief(settings));
    return (await attend(io, api, { json: true, stream: false, plain: true, endsWithProcess: true, start })) ?? 0;
  });
}

function timeoutMs({ dialects }: Settings): number {
  const given = dialects.ralph?.subagent_timeout;
  return (typeof given === 'number' ? given : defaultTimeoutSeconds) * 1000;
}
