// A command with process ids of its own. Its first process is a shell that starts the command, says how it ended, and stays until it is let go,
// so that what the command left running can be seen and asked to stop. With that shell ends everything, whatever it has done to hide.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The pipe on which the sandbox tells the first process, as `"child-pid": N`. */
export const infoFd = 3;
/** Both ways: the shell says `begun`, waits for a line, starts the command, says its exit code, and leaves when the other side closes. */
export const wordFd = 4;

// Descriptors that this process got from elsewhere must not go along: through one, files outside could be reached.
const closeOthers = `for f in /proc/self/fd/*; do f=\${f##*/}; if ((f > ${wordFd})); then exec {f}>&-; fi; done; `;
// What the shell itself has to say, such as that the command was killed, is not the command's.
const script =
  `echo begun >&${wordFd} && read -r _ <&${wordFd} || exit 125; exec 5>&2 2>/dev/null; "$@" 2>&5 ${infoFd}>&- ${wordFd}>&- 5>&-; ` +
  `echo $? >&${wordFd}; read -r _ <&${wordFd}`;

/** The first process of a namespace, which starts `argv`. `shell`: bash where there is one. */
export function firstProcess(shell: string, argv: string[], before = ''): string[] {
  const isBash = /(^|\/)bash$/.test(shell);
  return [shell, '-c', `exec ${infoFd}>&-; ${isBash ? closeOthers : ''}${before}${script}`, 'retinue', ...argv];
}

export interface Inmate {
  /** As the command itself knows it. */
  pid: number;
  /** As it is outside. */
  host: number;
  name: string;
}

/** All living processes of a namespace but its first. */
export function inmates(init: number): Inmate[] {
  if (countIn(init) === 0) return [];
  const own = namespaceOf(init);
  if (own === null) return [];
  return readdirSync('/proc').flatMap((entry) => {
    const host = Number(entry);
    if (!Number.isInteger(host) || host === init || namespaceOf(host) !== own) return [];
    const found = look(host);
    return found === null ? [] : [found];
  });
}

/** How many there are besides the first; null where the system does not tell. Cheap, however many the machine has. */
export function countIn(init: number): number | null {
  try {
    return readdirSync(`/proc/${init}/root/proc`).filter((name) => /^\d+$/.test(name)).length - 1;
  } catch {
    return null;
  }
}

function namespaceOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null;
  }
}

function look(host: number): Inmate | null {
  try {
    const text = readFileSync(`/proc/${host}/status`, 'utf8');
    const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(text)?.[1] ?? '';
    if (/^[ZX]/.test(field('State'))) return null;
    return { host, pid: Number(field('NSpid').split(/\s+/).at(-1)), name: field('Name') };
  } catch {
    return null;
  }
}
