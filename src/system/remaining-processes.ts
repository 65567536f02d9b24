// Finds and ends what a command has left running. Its process group is known on every system. On Linux a process that left the group (`setsid`) is
// found by a mark in its environment, or by what `descendants.ts` knows of it, among the processes started after the command.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DescendantTracker, type ProcessStat, readStat } from './descendants.ts';
import { trySignal } from './signals.ts';

export interface ProcessGroup {
  /** Of the first process, which leads the group. */
  pid: number;
  /** `NAME=value`, as it is in the environment of everything the group has started. */
  mark: string;
  /** Absent where a namespace contains the processes. */
  tracker?: DescendantTracker;
}

export const graceMs = 2000;
const pollMs = 25;
/** How long the kernel may take to remove a killed process. */
const reapMs = 300;

export interface RemainingProcess {
  pid: number;
  name: string;
  /** The process group it is in. */
  group: number;
}

export function findRemaining(group: ProcessGroup): RemainingProcess[] {
  const later = listProcessesFrom(group.pid);
  if (later === null) return trySignal(-group.pid, 0) ? [{ pid: group.pid, name: 'its process group', group: group.pid }] : [];
  return later.flatMap((pid) => {
    const found = readStat(pid);
    if (found === null || found.state === 'Z' || found.state === 'X') return [];
    return found.group === group.pid || isMarked(pid, group) || isUnmarkedDescendant(found, group) ? [found] : [];
  });
}

/** Null if the system has no /proc. */
function listProcessesFrom(pid: number): number[] | null {
  if (process.platform !== 'linux') return null;
  try {
    const all = readdirSync('/proc').map(Number);
    return all.filter((each) => each >= pid && each !== process.pid);
  } catch {
    return null;
  }
}

/** Sends SIGTERM, waits up to `grace` ms, then kills. Returns the processes that could not be ended. Pass a shorter `grace` if they were already asked. */
export async function endRemaining(group: ProcessGroup, grace = graceMs): Promise<RemainingProcess[]> {
  let left = findRemaining(group);
  signalAll(group, left, 'SIGTERM');
  // A stopped process receives SIGTERM only after SIGCONT.
  signalAll(group, left, 'SIGCONT');
  for (const end = performance.now() + grace; left.length > 0 && performance.now() < end; left = findRemaining(group)) await sleep(pollMs);
  for (const end = performance.now() + reapMs; left.length > 0 && performance.now() < end; left = findRemaining(group)) {
    signalAll(group, left, 'SIGKILL');
    await sleep(pollMs);
  }
  return left;
}

/** Signals the group as a whole and each process outside it, so that no process is signalled twice. */
function signalAll({ pid }: ProcessGroup, left: RemainingProcess[], signal: NodeJS.Signals): void {
  if (left.some(({ group }) => group === pid)) trySignal(-pid, signal);
  for (const each of left) if (each.group !== pid) trySignal(each.pid, signal);
}

/** Processes of other commands carry another mark. */
function isUnmarkedDescendant(stat: ProcessStat, { mark, tracker }: ProcessGroup): boolean {
  if (tracker?.isDescendant(stat) !== true) return false;
  const variable = mark.slice(0, mark.indexOf('=') + 1);
  return !readEnvironment(stat.pid).some((entry) => entry.startsWith(variable) && entry !== mark);
}

function isMarked(pid: number, { mark }: ProcessGroup): boolean {
  return readEnvironment(pid).includes(mark);
}

/** Empty also for processes that are gone or belong to another user. */
function readEnvironment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    return [];
  }
}
