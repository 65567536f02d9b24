// Recognises processes that a command has started, on Linux and without a namespace, also after they have left its process group and removed its mark.
//
// 1. While the command runs, the children of every known process are read again and again. What was seen once is known for good.
// 2. A process that was never seen, because its parent ended at once, still has the unusual priority of the command: only a privileged process can
//    raise it again. It also has the signature of the command, the same user, no terminal, and started after the command. The system has given it a new
//    parent; a process whose parents lead to another living process belongs to a command of that one.
//
// A process that changes its priority or its signature between two readings is not recognised. Only a namespace contains such a process.
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

export interface DescendantTracker {
  isDescendant(process: ProcessStat): boolean;
  /** Stops reading; what is known stays known. */
  stop(): void;
}

export interface ProcessStat {
  pid: number;
  name: string;
  state: string;
  parent: number;
  group: number;
  /** 0 without a terminal. */
  terminal: number;
  /** In the scale of `nice`. */
  priority: number;
  /** Since the start of the machine, in ticks. With the id it identifies a process. */
  startedAt: number;
  /** Where its stack and environment lie, which differs after each `exec`. Null in the middle of one, while its environment cannot be read. */
  image: string | null;
}

/** A value that hardly any other program uses. */
export const commandPriority = 13;

/** How readily the system ends a process when memory runs out (`oom_score_adj`): commands a little sooner than other programs. Inherited, and usually 0. */
const signatures = { from: 101, to: 300 };

const firstMs = 2;
const everyMs = 50;
const maxKnown = 10_000;

/** To be called before the command starts anything. Its low priority also keeps this process responsive whatever commands do. */
export function signCommand(pid: number): void {
  const signature = String(randomInt(signatures.from, signatures.to + 1));
  for (const sign of [() => setPriority(pid, commandPriority), () => writeFileSync(`/proc/${pid}/oom_score_adj`, signature)])
    try {
      sign();
    } catch {
      // The process has already ended, or the system does not permit or know it.
    }
}

export function trackDescendants(root: number): DescendantTracker {
  const first = readStat(root);
  const signature = readSignature(root);
  const known = new Map<number, number>(first === null ? [] : [[root, first.startedAt]]);
  let delay = firstMs;
  let timer: NodeJS.Timeout | null = null;

  function readAgain(): void {
    const todo = [...known.keys()];
    for (let pid = todo.pop(); pid !== undefined && known.size < maxKnown; pid = todo.pop())
      for (const child of readChildren(pid)) {
        const stat = known.has(child) ? null : readStat(child);
        if (stat === null) continue;
        known.set(child, stat.startedAt);
        todo.push(child);
      }
    delay = Math.min(everyMs, delay * 2);
    timer = setTimeout(readAgain, delay);
    timer.unref();
  }

  const hasInherited = (stat: ProcessStat) =>
    first !== null &&
    getPriority() !== commandPriority &&
    stat.priority === commandPriority &&
    readSignature(stat.pid) === signature &&
    stat.startedAt >= first.startedAt &&
    stat.terminal === 0 &&
    isOwnUser(stat.pid) &&
    isOrphanOf(stat, root);
  if (first !== null) readAgain();
  return {
    isDescendant: (stat) => known.get(stat.pid) === stat.startedAt || hasInherited(stat),
    stop: () => void (timer && clearTimeout(timer)),
  };
}

/** Whether the process, or what it comes from, is `root` itself or was left behind by its parent. */
function isOrphanOf(stat: ProcessStat, root: number): boolean {
  let top = stat;
  for (let above = readStat(top.parent); above?.priority === commandPriority; above = readStat(top.parent)) top = above;
  return top.pid === root || top.parent <= 1 || isAncestor(top.parent);
}

/** Orphans go to the first process, or to an ancestor that collects them. */
function isAncestor(pid: number): boolean {
  for (let above = process.ppid; above > 1; above = readStat(above)?.parent ?? 0) if (above === pid) return true;
  return false;
}

/** The name is in parentheses and may contain any character, so the other fields are counted from its end. Null if the process is gone. */
export function readStat(pid: number): ProcessStat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const end = text.lastIndexOf(')');
    const fields = text.slice(end + 2).split(' ');
    return {
      pid,
      name: text.slice(text.indexOf('(') + 1, end),
      state: fields[0] ?? '',
      parent: Number(fields[1]),
      group: Number(fields[2]),
      terminal: Number(fields[4]),
      priority: Number(fields[16]),
      startedAt: Number(fields[19]),
      image: fields[47] === '0' ? null : `${fields[25]} ${fields[47]}`,
    };
  } catch {
    return null;
  }
}

/** Null if the process is gone, or the system has no such value. */
function readSignature(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/oom_score_adj`, 'latin1').trim();
  } catch {
    return null;
  }
}

function readChildren(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

function isOwnUser(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.getuid?.();
  } catch {
    return false;
  }
}
