// Limits where there are no control groups: a watcher that counts, and ends a namespace that has grown too large. It comes too late by as much as
// is made between two looks, so the command's own limits (`ulimit`) stand before it where the system heeds them.
import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import type { Limits } from './cgroup.ts';

const everyMs = 50;
const pageBytes = 4096;

export interface Watch {
  stop(): (keyof Limits)[];
}

/** `inMemory`: file systems of the namespace whose files are memory too, though of no process. */
export function watch(init: number, limits: Limits, inMemory: readonly string[]): Watch {
  const reached = new Set<keyof Limits>();
  const timer = setInterval(() => {
    const over = look(init, limits, inMemory);
    if (over === null) return;
    reached.add(over);
    try {
      process.kill(init, 'SIGKILL');
    } catch {
      // It is gone.
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

function look(init: number, limits: Limits, inMemory: readonly string[]): keyof Limits | null {
  const proc = `/proc/${init}/root/proc`;
  try {
    const pids = readdirSync(proc).filter((name) => /^\d+$/.test(name));
    if (pids.length - 1 > limits.processes) return 'processes';
    const held = pids.reduce((sum, pid) => sum + residentBytes(`${proc}/${pid}/statm`), 0);
    const stored = inMemory.reduce((sum, path) => sum + storedBytes(`/proc/${init}/root${path}`), 0);
    return held + stored > limits.bytes ? 'bytes' : null;
  } catch {
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

/** For the first shell: limits that what it starts cannot raise. `-p` is what `-u` is called in plain shells. */
export function ulimits({ processes, bytes }: Limits): string {
  const kib = Math.floor(bytes / 1024);
  return `{ ulimit -u ${processes} || ulimit -p ${processes}; ulimit -d ${kib}; } 2>/dev/null; `;
}
