// Finds out whether this process was started by a tool of a run: by its shell, or by one of its MCP servers. What the process could have set itself, such
// as its environment, may say so but cannot deny it.
//
// Not recognised: a process outside a sandbox that removed the mark from its environment and outlived the process that started it, because the
// system then gives it another parent.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { guardName, guardVariable } from './process-guard.ts';

/** Mounted read-only in every sandbox, where the processes outside cannot be seen. A command can neither remove nor cover it. */
export const runMarker = '/run/retinue-run';

/** How it is known, for a message; null if no run started this process. */
export function findRunAbove(env: Record<string, string | undefined>): string | null {
  if (existsSync(runMarker)) return 'it is in the sandbox of a run';
  if (env[guardVariable]) return 'its environment says so';
  const supervisor = findSupervisor(process.platform === 'linux' ? readProcess : createPsReader());
  return supervisor === null ? null : `process ${supervisor} drives the run`;
}

interface AncestorProcess {
  parent: number;
  /** Whether it was started as the leader of a session (Linux) or of a process group, as all processes of tools are. */
  isLeader: boolean;
  hasGuard(): boolean;
}

/** The process that drives the run: an ancestor with a guard whose child in this line leads a session. Its other children are not of a run. */
function findSupervisor(read: (pid: number) => AncestorProcess | null): number | null {
  const seen = new Set<number>();
  let isLeader = read(process.pid)?.isLeader ?? false;
  for (let pid = process.ppid; pid > 1 && !seen.has(pid); ) {
    seen.add(pid);
    const found = read(pid);
    if (found === null) return null;
    if (isLeader && found.hasGuard()) return pid;
    isLeader = found.isLeader;
    pid = found.parent;
  }
  return null;
}

/** Null if the process has ended. */
function readProcess(pid: number): AncestorProcess | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // Fields are counted after the name, which may contain spaces and brackets.
  const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(parent), isLeader: Number(session) === pid, hasGuard: () => listChildren(pid).some(isGuard) };
}

function isGuard(pid: string): boolean {
  return readText(`/proc/${pid}/cmdline`)?.split('\0').includes(guardName) === true;
}

/** A kernel may lack the list of children; then all processes are looked at. */
function listChildren(pid: number): string[] {
  const listed = readText(`/proc/${pid}/task/${pid}/children`);
  if (listed !== null) return listed.split(' ').filter((each) => each !== '');
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && readProcess(Number(name))?.parent === pid);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** For systems without /proc. */
function createPsReader(): (pid: number) => AncestorProcess | null {
  const lines = runPs().map((line) => /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line)?.slice(1) ?? []);
  const all = lines.map(([pid, parent, group, command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    command,
  }));
  return (pid) => {
    const found = all.find((each) => each.pid === pid);
    if (!found) return null;
    const hasGuard = () => all.some((each) => each.parent === pid && each.command.includes(` ${guardName} `));
    return { parent: found.parent, isLeader: found.group === pid, hasGuard };
  };
}

function runPs(): string[] {
  try {
    return execFileSync('ps', ['-axo', 'pid=,ppid=,pgid=,command='], {
      encoding: 'utf8',
      timeout: 2_000,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: '/usr/bin:/bin' },
    }).split('\n');
  } catch {
    return [];
  }
}
