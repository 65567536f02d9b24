// The environment and the shell that commands get.
import { realpathSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import { isExecutable } from '../../system/executable.ts';

/** Commands get only these variables, so no keys or tokens (invariant 11). */
const passed = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR'];
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export type ShellEnvironment = Record<string, string | undefined>;

/** `workspace`: its directories are removed from PATH. */
export function createEnvironment(processEnv: ShellEnvironment, workspace: string | null = null): Record<string, string> {
  const env: Record<string, string> = { LANG: 'C.UTF-8', TERM: 'dumb' };
  for (const name of passed) if (processEnv[name]) env[name] = processEnv[name];
  // A relative entry, or one in the workspace, would find programs that a model has written.
  const isInWorkspace = (entry: string) => workspace !== null && `${resolveOrKeep(entry)}/`.startsWith(`${resolveOrKeep(workspace)}/`);
  const path = (processEnv.PATH ?? '').split(delimiter).filter((entry) => isAbsolute(entry) && !isInWorkspace(entry));
  env.PATH = path.length > 0 ? path.join(delimiter) : defaultPath;
  return env;
}

/** bash, or the plain shell of the system if bash is not installed. Never one from the workspace. */
export function findShell(path: string, workspace: string): string {
  const directories = ['/bin', '/usr/bin', ...path.split(delimiter)].filter((each) => !`${each}/`.startsWith(`${workspace}/`));
  return directories.map((each) => join(each, 'bash')).find(isExecutable) ?? '/bin/sh';
}

/** Disables start-up files and inherited functions and options, so that the command runs as it was analysed. */
export function shellArguments(shell: string, command: string): string[] {
  return isBash(shell) ? [shell, '--norc', '--noprofile', '-p', '-c', command] : [shell, '-c', command];
}

/** The analysis of commands is valid only for bash. */
export function isBash(shell: string): boolean {
  return basename(shell) === 'bash';
}

function resolveOrKeep(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
