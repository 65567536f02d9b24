// What this process has started must not outlive it, however it ends. One guard for each process that starts anything: a plain shell that
// waits for the end of a pipe which only we hold. When that comes, it ends whatever carries our mark in its environment.
//
// It needs /proc. Elsewhere nobody is found: what is started must watch its own pipe.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';

export interface Guard {
  /** Variables that everything started here must carry. The first call starts the guard. */
  marks(): Record<string, string>;
}

const name = 'RETINUE_OWNER';

// Looked at until nothing is found, because what is found may be about to start something.
const script = `
while read -r _; do :; done
for n in 1 2 3 4 5 6 7 8 9 10; do
  pids=$(grep -lsaF -e "$1" /proc/[0-9]*/environ | cut -d/ -f3)
  [ -z "$pids" ] && exit 0
  kill -KILL $pids 2>/dev/null
  sleep 0.1
done`;

export function createGuard(): Guard {
  const value = randomBytes(16).toString('hex');
  let isWatching = false;
  return {
    marks() {
      if (!isWatching) watch(`${name}=${value}`);
      isWatching = true;
      return { [name]: value };
    },
  };
}

function watch(mark: string): void {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  const guard = spawn('/bin/sh', ['-c', script, 'retinue-guard', mark], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env,
    cwd: '/',
  });
  // A machine without a shell has no commands to guard.
  guard.on('error', () => {});
  guard.stdin?.on('error', () => {});
  guard.unref();
  (guard.stdin as unknown as { unref?(): void } | null)?.unref?.();
}
