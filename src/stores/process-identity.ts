// Tells processes apart, even if a later process gets the same process id.
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { platform } from 'node:os';

export interface ProcessIdentity {
  pid: number;
  /** The start time as the platform reports it; null if unknown. */
  started: string | null;
  /** Identifies the boot of the machine; null if unknown. */
  boot: string | null;
  /** The pid namespace: containers count process ids separately. */
  space: string | null;
}

export function getOwnIdentity(): ProcessIdentity {
  return { pid: process.pid, started: readState(process.pid).started, boot: readBootId(), space: readPidNamespace() };
}

/**
 * Whether a process of this machine has certainly ended. A process of another container cannot be checked: only its heartbeat tells. Another boot of the
 * machine ended all processes.
 */
export function hasEnded(other: ProcessIdentity, self: ProcessIdentity): boolean {
  if (other.boot !== null && self.boot !== null && other.boot !== self.boot) return true;
  return other.space === self.space && isGone(other);
}

/** The same for a process of any machine: another boot may be that of another machine, so only its heartbeat tells. */
export function hasEndedHere(other: ProcessIdentity, self: ProcessIdentity): boolean {
  return other.boot !== null && other.boot === self.boot && other.space === self.space && isGone(other);
}

function isGone(other: ProcessIdentity): boolean {
  const current = readState(other.pid);
  return current.ended || (other.started !== null && current.started !== null && other.started !== current.started);
}

interface ProcessState {
  ended: boolean;
  started: string | null;
}

function readState(pid: number): ProcessState {
  try {
    return platform() === 'linux' ? parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')) : readStateFromPs(pid);
  } catch {
    return { ended: !exists(pid), started: null };
  }
}

/** Reads field 22 of /proc/PID/stat. Field 2, the name, may contain spaces and brackets, so fields are counted after its last bracket. */
export function parseStat(stat: string): ProcessState {
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A zombie has ended; only its parent has not read its exit code yet.
  const ended = state === 'Z' || state === 'X';
  return { ended, started: rest[18] ?? null };
}

function readStateFromPs(pid: number): ProcessState {
  const output = runCommand('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
  return { ended: output.startsWith('Z'), started: output.replace(/^\S+\s+/, '') };
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function readBootId(): string | null {
  try {
    if (platform() === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return runCommand('sysctl', ['-n', 'kern.bootsessionuuid']);
  } catch {
    return null;
  }
}

function readPidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}

function runCommand(command: string, args: string[]): string {
  return execFileSync(command, args, {
    encoding: 'utf8',
    env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 1_000,
  }).trim();
}
