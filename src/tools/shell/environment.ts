import { accessSync, constants, realpathSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join } from 'node:path';

/** All that a command sees of the environment (invariant 11): keys and tokens of the process stay with it. */
const passed = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR'];
const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export type Environment = Record<string, string | undefined>;

/** `workspace`: the folder in which no program is looked for by its name. */
export function environmentOf(own: Environment, workspace: string | null = null): Record<string, string> {
  const kept: Record<string, string> = { LANG: 'C.UTF-8', TERM: 'dumb' };
  for (const name of passed) if (own[name]) kept[name] = own[name];
  // A relative entry, or one in the workspace, would find programs that a model has written.
  const isWithin = (entry: string) => workspace !== null && `${realOf(entry)}/`.startsWith(`${realOf(workspace)}/`);
  const path = (own.PATH ?? '').split(delimiter).filter((entry) => isAbsolute(entry) && !isWithin(entry));
  kept.PATH = path.length > 0 ? path.join(delimiter) : usualPath;
  return kept;
}

/** bash, or the system's plain shell where there is none. Never one that lies in the workspace. */
export function shellIn(path: string, workspace: string): string {
  const places = ['/bin', '/usr/bin', ...path.split(delimiter)].filter((place) => !`${place}/`.startsWith(`${workspace}/`));
  return places.map((place) => join(place, 'bash')).find(isExecutable) ?? '/bin/sh';
}

/** Reads no start-up files, and of the environment neither functions nor options: a command is judged as it stands. */
export function shellCommand(shell: string, command: string): string[] {
  return isBash(shell) ? [shell, '--norc', '--noprofile', '-p', '-c', command] : [shell, '-c', command];
}

/** Commands are judged as bash reads them. */
export function isBash(shell: string): boolean {
  return basename(shell) === 'bash';
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
