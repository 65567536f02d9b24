// Runs a command in a separate PID namespace. The first process of the namespace is a shell that starts the command, reports how it ended, and stays
// until it is released, so that processes the command left running can be listed and asked to stop. When that shell ends, the kernel kills everything
// in the namespace, detached processes included.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The pipe on which the sandbox reports the first process, as `"child-pid": N`. */
export const infoFd = 3;
/** Two-way: the shell writes `begun`, waits for a line, starts the command, writes its exit code, and exits when the other side closes. */
export const controlFd = 4;

// Descriptors that this process inherited must not be passed on: they could give access to files outside the sandbox.
const closeOthers = `for f in /proc/self/fd/*; do f=\${f##*/}; if ((f > ${controlFd})); then exec {f}>&-; fi; done; `;
// Messages of the shell itself, such as that the command was killed, are not output of the command.
const script =
  `echo begun >&${controlFd} && read -r _ <&${controlFd} || exit 125; exec 5>&2 2>/dev/null; "$@" 2>&5 ${infoFd}>&- ${controlFd}>&- 5>&-; ` +
  `echo $? >&${controlFd}; read -r _ <&${controlFd}`;

/** The command line of the first process, which starts `argv`. `shell`: bash if installed. `before`: a script to run first. */
export function namespaceInit(shell: string, argv: string[], before = ''): string[] {
  const isBash = /(^|\/)bash$/.test(shell);
  return [shell, '-c', `exec ${infoFd}>&-; ${isBash ? closeOthers : ''}${before}${script}`, 'retinue', ...argv];
}

export interface NamespaceProcess {
  /** Inside the namespace. */
  pid: number;
  /** Outside the namespace. */
  hostPid: number;
  name: string;
}

/** All living processes of a namespace except its first, `init`. */
export function listNamespace(init: number): NamespaceProcess[] {
  if (isEmpty(init)) return [];
  const own = readNamespace(init);
  if (own === null) return [];
  return readdirSync('/proc').flatMap((entry) => {
    const hostPid = Number(entry);
    if (!Number.isInteger(hostPid) || hostPid === init || readNamespace(hostPid) !== own) return [];
    return readProcess(hostPid) ?? [];
  });
}

/** Cheap, however many processes the machine has. False if it cannot be told. */
function isEmpty(init: number): boolean {
  try {
    return readdirSync(`/proc/${init}/root/proc`).filter((name) => /^\d+$/.test(name)).length === 1;
  } catch {
    return false;
  }
}

function readNamespace(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null;
  }
}

/** Null if the process has ended. */
function readProcess(hostPid: number): NamespaceProcess | null {
  try {
    const text = readFileSync(`/proc/${hostPid}/status`, 'utf8');
    const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(text)?.[1] ?? '';
    if (/^[ZX]/.test(field('State'))) return null;
    return { hostPid, pid: Number(field('NSpid').split(/\s+/).at(-1)), name: field('Name') };
  } catch {
    return null;
  }
}
