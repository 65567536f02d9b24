// Enforces limits without control groups: polls a namespace and kills it when it has grown too large. Since a namespace can grow between two polls, the
// command also gets `ulimit` limits where the system supports them.
import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import type { Limits } from './cgroup.ts';

const everyMs = 50;
const pageBytes = 4096;

export interface LimitWatcher {
  stop(): (keyof Limits)[];
}

/** `inMemory`: file systems of the namespace whose files take memory that belongs to no process. */
export function watchLimits(init: number, limits: Limits, inMemory: readonly string[]): LimitWatcher {
  const reached = new Set<keyof Limits>();
  const timer = setInterval(() => {
    const over = findExceeded(init, limits, inMemory);
    if (over === null) return;
    reached.add(over);
    try {
      process.kill(init, 'SIGKILL');
    } catch {
      // It has already ended.
    }
  }, everyMs);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      return [...reached];
    },
  };
}

function findExceeded(init: number, limits: Limits, inMemory: readonly string[]): keyof Limits | null {
  const proc = `/proc/${init}/root/proc`;
  try {
    const pids = readdirSync(proc).filter((name) => /^\d+$/.test(name));
    if (pids.length - 1 > limits.processes) return 'processes';
    const held = pids.reduce((sum, pid) => sum + residentBytes(`${proc}/${pid}/statm`), 0);
    const stored = inMemory.reduce((sum, path) => sum + storedBytes(`/proc/${init}/root${path}`), 0);
    return held + stored > limits.bytes ? 'bytes' : null;
  } catch {
    // The namespace has ended.
    return null;
  }
}

function residentBytes(statm: string): number {
  try {
    return Number(readFileSync(statm, 'utf8').split(' ')[1]) * pageBytes;
  } catch {
    return 0;
  }
}

function storedBytes(path: string): number {
  try {
    const { blocks, bfree, bsize } = statfsSync(path);
    return (blocks - bfree) * bsize;
  } catch {
    return 0;
  }
}

/** For the first shell of the namespace: limits that its children cannot raise. Plain shells call `-u` `-p`. */
export function ulimitScript({ processes, bytes }: Limits): string {
  const kib = Math.floor(bytes / 1024);
  return `{ ulimit -u ${processes} || ulimit -p ${processes}; ulimit -d ${kib}; } 2>/dev/null; `;
}
