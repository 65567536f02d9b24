// Kills everything this process has started when it dies, however it dies. The guard is a plain shell that waits for the end of a pipe that only
// this process holds, and then kills every process that carries our mark in its environment. Each process that starts others has one guard.
//
// It needs /proc. On other systems it finds nothing, and a started process must watch its own pipe.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';

export interface ProcessGuard {
  /** Environment variables that every process started here must carry. The first call starts the guard. */
  marks(): Record<string, string>;
}

/** In the environment of every process that a run has started. */
export const guardVariable = 'RETINUE_OWNER';
/** By this argument a guard is recognised among the children of a process. */
export const guardName = 'retinue-guard';

// Repeats until nothing is found, because a process that was found may have been about to start another.
const script = `
while read -r _; do :; done
for n in 1 2 3 4 5 6 7 8 9 10; do
  pids=$(grep -lsaF -e "$1" /proc/[0-9]*/environ | cut -d/ -f3)
  [ -z "$pids" ] && exit 0
  kill -KILL $pids 2>/dev/null
  sleep 0.1
done`;

export function createProcessGuard(): ProcessGuard {
  const value = randomBytes(16).toString('hex');
  let isStarted = false;
  return {
    marks() {
      if (!isStarted) startGuard(`${guardVariable}=${value}`);
      isStarted = true;
      return { [guardVariable]: value };
    },
  };
}

function startGuard(mark: string): void {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  const guard = spawn('/bin/sh', ['-c', script, guardName, mark], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env,
    cwd: '/',
  });
  // A machine without a shell has no commands to guard.
  guard.on('error', () => {});
  // If the guard was killed, writing to it must not end this process.
  guard.stdin?.on('error', () => {});
  guard.unref();
  (guard.stdin as unknown as { unref?(): void } | null)?.unref?.();
}
