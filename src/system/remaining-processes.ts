// Finds and ends what a command has left running. Its process group is known on every system. On Linux a process that left the group (`setsid`) is
// found by a mark in its environment, or by what `descendants.ts` knows of it, among the processes started after the command. Those have higher ids,
// until the system begins with low ids again.
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
  /** When the first process started, in ticks, and how many processes the system had started by then; 0 where that is not known. */
  startedAt: number;
  forks: number;
}

/** To be called when the first process has just been started. */
export function createProcessGroup(pid: number, mark: string, tracker?: DescendantTracker): ProcessGroup {
  return { pid, mark, ...(tracker && { tracker }), startedAt: readStat(pid)?.startedAt ?? 0, forks: countForks() };
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
  /** False while it may be a process of another command; it is waited for, but not ended. */
  isCertain: boolean;
}

export function findRemaining(group: ProcessGroup): RemainingProcess[] {
  const later = listProcessesSince(group);
  if (later === null)
    return trySignal(-group.pid, 0) ? [{ pid: group.pid, name: 'its process group', group: group.pid, isCertain: true }] : [];
  return later.flatMap((pid) => {
    const found = readStat(pid);
    if (found === null || found.startedAt < group.startedAt || found.state === 'Z' || found.state === 'X') return [];
    if (found.group === group.pid || isMarked(pid, group)) return [{ ...found, isCertain: true }];
    return isUnmarkedDescendant(found, group) ? [{ ...found, isCertain: isStillRunning(found) }] : [];
  });
}

/** May contain processes that started earlier. Null if the system has no /proc. */
function listProcessesSince({ pid, forks }: ProcessGroup): number[] | null {
  if (process.platform !== 'linux') return null;
  try {
    const largest = Number(readFileSync('/proc/sys/kernel/pid_max', 'latin1'));
    // Ids in use are passed over.
    const highest = pid + countForks() - forks + countThreads();
    const lowest = highest < largest ? pid : 1;
    return readdirSync('/proc')
      .map(Number)
      .filter((each) => each >= lowest && each !== process.pid);
  } catch {
    return null;
  }
}

/** How many processes and threads the system has started. */
function countForks(): number {
  try {
    return Number(/^processes (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function countThreads(): number {
  return Number(/\/(\d+)/.exec(readFileSync('/proc/loadavg', 'latin1'))?.[1] ?? 0);
}

/** Sends SIGTERM, waits up to `grace` ms, then kills. Returns the processes that could not be ended. Pass a shorter `grace` if they were already asked. */
export async function endRemaining(group: ProcessGroup, grace = graceMs): Promise<RemainingProcess[]> {
  let left = findRemaining(group);
  const asked = new Set<number>();
  for (const end = performance.now() + grace; left.length > 0 && performance.now() < end; left = findRemaining(group)) {
    const others = left.filter(({ pid, isCertain }) => isCertain && !asked.has(pid));
    signalAll(group, others, 'SIGTERM');
    // A stopped process receives SIGTERM only after SIGCONT.
    signalAll(group, others, 'SIGCONT');
    for (const { pid } of others) asked.add(pid);
    await sleep(pollMs);
  }
  for (const end = performance.now() + reapMs; left.length > 0 && performance.now() < end; left = findRemaining(group)) {
    signalAll(group, left, 'SIGKILL');
    await sleep(pollMs);
  }
  return left.filter(({ isCertain }) => isCertain);
}

/** Signals the group as a whole and each process outside it, so that no process is signalled twice. */
function signalAll({ pid }: ProcessGroup, left: RemainingProcess[], signal: NodeJS.Signals): void {
  if (left.some(({ group }) => group === pid)) trySignal(-pid, signal);
  for (const { pid: other, group, isCertain } of left) if (group !== pid && isCertain) trySignal(other, signal);
}

/** Processes of other commands carry another mark. */
function isUnmarkedDescendant(stat: ProcessStat, { mark, tracker }: ProcessGroup): boolean {
  if (tracker?.isDescendant(stat) !== true) return false;
  const variable = mark.slice(0, mark.indexOf('=') + 1);
  return !readEnvironment(stat.pid).some((entry) => entry.startsWith(variable) && entry !== mark);
}

/** False if another program has replaced it (`exec`): the environment that was read may have been that of neither. */
function isStillRunning({ pid, image }: ProcessStat): boolean {
  return image !== null && readStat(pid)?.image === image;
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
