import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { platform } from 'node:os';

/** What tells one process from every other, also from a later one with the same number. */
export interface Identity {
  pid: number;
  /** When it started, in the words of the platform; null where that cannot be told. */
  started: string | null;
  /** Which start of the machine it belongs to. */
  boot: string | null;
  /** Where its number counts: containers have numbers of their own. */
  space: string | null;
}

export function ownIdentity(): Identity {
  return { pid: process.pid, started: look(process.pid).started, boot: bootId(), space: pidSpace() };
}

/**
 * Whether the process has certainly ended. Numbers of another container say nothing here: such a process
 * is judged by its heartbeat alone.
 */
export function isGone(of: Identity, self: Identity): boolean {
  if (of.boot !== null && self.boot !== null && of.boot !== self.boot) return true;
  if (of.space !== self.space) return false;
  const now = look(of.pid);
  return now.ended || (of.started !== null && now.started !== null && of.started !== now.started);
}

interface Sight {
  ended: boolean;
  started: string | null;
}

function look(pid: number): Sight {
  try {
    return platform() === 'linux' ? readStat(readFileSync(`/proc/${pid}/stat`, 'utf8')) : askPs(pid);
  } catch {
    return { ended: !exists(pid), started: null };
  }
}

/** Field 22 of /proc/PID/stat. The name in field 2 may hold spaces and brackets, so counting begins after its last bracket. */
export function readStat(stat: string): Sight {
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Ended, and only kept for its parent to ask.
  const ended = state === 'Z' || state === 'X';
  return { ended, started: rest[18] ?? null };
}

function askPs(pid: number): Sight {
  const told = ask('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
  return { ended: told.startsWith('Z'), started: told.replace(/^\S+\s+/, '') };
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function bootId(): string | null {
  try {
    if (platform() === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return ask('sysctl', ['-n', 'kern.bootsessionuuid']);
  } catch {
    return null;
  }
}

function pidSpace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}

function ask(command: string, words: string[]): string {
  return execFileSync(command, words, {
    encoding: 'utf8',
    env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 1_000,
  }).trim();
}
