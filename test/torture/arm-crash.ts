import { type Crash, type CrashPoint, crashPoints } from '../../src/ports/crash.ts';

/** Kills this process with SIGKILL at the n-th call for `point`, given as `point:n`. Undefined if nothing is armed; throws for an unknown point. */
export function armCrash(armed: string | undefined): Crash | undefined {
  if (!armed) return undefined;
  const [, name = armed, times = '1'] = /^(.*):(\d+)$/.exec(armed) ?? [];
  if (!crashPoints.includes(name as CrashPoint)) throw new Error(`RETINUE_CRASH: unknown crash point \`${name}\``);
  let left = Number(times);
  return (point) => {
    if (point === name && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
