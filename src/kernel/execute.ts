// A run on its host, from the first step to its end. The first ending wins: the run's own or the host's.
import type { Host, HostWork } from '../ports/host.ts';
import { type Ending, failed } from './fold.ts';
import type { LiveRun, StopCause } from './live.ts';
import { remoteLoop } from './remote.ts';
import { broken, driveRun, type RunGround, settleRun, suspendRun } from './run.ts';

/** Gives a run to its host, and writes its end, or its pause, when the host has nothing left of it. Never rejects. */
export async function executeRun(run: LiveRun, host: Host, ground: RunGround): Promise<void> {
  let driving: Promise<void> | null = null;
  let ending: Ending | null = null;
  const driveWith = (loop?: Parameters<typeof driveRun>[2]) => {
    driving ??= driveRun(run, ground, loop).then((own) => {
      ending ??= own;
    });
    return driving;
  };
  const work: HostWork = {
    runId: run.id,
    drive: () => driveWith(),
    remote: (place) => driveWith((env) => remoteLoop(env, place, ground.store)),
  };
  try {
    await host.execute(work, run.signal);
  } catch (error) {
    ending ??= broken(error);
    run.stop({ code: 'cancelled', message: ending.message });
  }
  await driving;
  if (pausedBy(run) !== null) return suspendRun(run, pausedBy(run) as string, ground);
  await settleRun(run, ending ?? failed('no_result', 'the host was done without having driven the run'), ground);
}

/** Why this process leaves the run to another one; null where it does not. */
export function pausedBy(run: LiveRun): string | null {
  const cause = run.signal.reason as StopCause | undefined;
  return cause?.code === 'paused' ? cause.message : null;
}
