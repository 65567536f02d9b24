// RETINUE_CRASH=<point>:<n> makes this process kill itself with -9 at the n-th time that it comes to the point (src/ports/crash.ts has the list). It can do
// no more than whoever sets a variable of the process can do anyway, which is to end it; child processes do not get the variable.
import { RetinueError } from '../contract/error.ts';
import { type Crash, type CrashPoint, crashPoints } from '../ports/crash.ts';
import { unknownNameMessage } from '../text/suggest.ts';

/** Null where nothing is armed. Throws `usage` for a point that there is none of. */
export function armedCrash(env: Record<string, string | undefined>): Crash | null {
  const armed = env.RETINUE_CRASH;
  if (!armed) return null;
  const [, name = armed, times = '1'] = /^(.*):(\d+)$/.exec(armed) ?? [];
  if (!crashPoints.includes(name as CrashPoint))
    throw new RetinueError('usage', `RETINUE_CRASH: ${unknownNameMessage('crash point', name, [...crashPoints])}`);
  let left = Number(times);
  return (point) => {
    if (point === name && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
