import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * What is left of a command. Its process group is known everywhere. What has left the group (`setsid`) is found on Linux by a mark in its
 * environment, among the processes that came after the command. A program that takes the mark away and leaves the group is not found:
 * only a sandbox with its own process ids holds that one.
 */
export interface Command {
  /** Of the first process, and of the group that it leads. */
  pid: number;
  /** `NAME=value`, as it stands in the environment of all that it started. */
  mark: string;
}

export const graceMs = 2000;
const pollMs = 25;
/** How long after the kill the system may take to be done with it. */
const reapMs = 300;

export interface Leftover {
  pid: number;
  name: string;
  /** Of the process group it is in. */
  group: number;
}

export function leftovers(command: Command): Leftover[] {
  const later = processesFrom(command.pid);
  if (later === null) return isAlive(-command.pid) ? [{ pid: command.pid, name: 'its process group', group: command.pid }] : [];
  return later.flatMap((pid) => {
    const found = look(pid);
    if (found === null || found.state === 'Z' || found.state === 'X') return [];
    return found.group === command.pid || isMarked(pid, command.mark) ? [found] : [];
  });
}

/** Null where the system does not tell. */
function processesFrom(pid: number): number[] | null {
  if (process.platform !== 'linux') return null;
  try {
    const all = readdirSync('/proc').map(Number);
    return all.filter((each) => each >= pid && each !== process.pid);
  } catch {
    return null;
  }
}

/** Asks all of it to stop, waits up to 2 s, kills. Gives what could not be ended. `grace`: less where it was asked before. */
export async function endAll(command: Command, grace = graceMs): Promise<Leftover[]> {
  let left = leftovers(command);
  tell(command, left, 'SIGTERM');
  // What is stopped hears nothing else.
  tell(command, left, 'SIGCONT');
  for (const end = performance.now() + grace; left.length > 0 && performance.now() < end; left = leftovers(command)) await sleep(pollMs);
  for (const end = performance.now() + reapMs; left.length > 0 && performance.now() < end; left = leftovers(command)) {
    tell(command, left, 'SIGKILL');
    await sleep(pollMs);
  }
  return left;
}

/** Nobody is told twice. */
function tell({ pid }: Command, left: Leftover[], signal: NodeJS.Signals): void {
  if (left.some(({ group }) => group === pid)) send(-pid, signal);
  for (const each of left) if (each.group !== pid) send(each.pid, signal);
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const isAlive = (pid: number): boolean => send(pid, 0);

interface Found extends Leftover {
  state: string;
}

/** The name stands in parentheses and may hold any characters, so the rest is counted from its end. */
function look(pid: number): Found | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const end = text.lastIndexOf(')');
    const [state = '', , group] = text.slice(end + 2).split(' ');
    return { pid, name: text.slice(text.indexOf('(') + 1, end), state, group: Number(group) };
  } catch {
    return null;
  }
}

function isMarked(pid: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
  } catch {
    return false;
  }
}
