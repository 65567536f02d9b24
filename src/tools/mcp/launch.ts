// How the process of a server is started.
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { dieWithParent } from '../../system/die-with-parent.ts';
import { findErrorCode } from '../refusal.ts';
import type { ServerTarget } from './resolve-target.ts';

/**
 * The program and arguments that start a server. On Linux a helper makes the kernel kill it when this process dies, however it dies; elsewhere the server
 * must notice the end of its input. Throws an Error that says why it cannot be started.
 */
export function createLaunchCommand({
  command,
  args,
  cwd,
  env,
}: Extract<ServerTarget, { kind: 'command' }>): [program: string, args: string[]] {
  const program = findExecutable(command, cwd, env.PATH ?? '');
  const [first, ...rest] = [...dieWithParent(), program, ...args] as [string, ...string[]];
  return [first, rest];
}

function findExecutable(command: string, cwd: string, path: string): string {
  const candidates = command.includes('/')
    ? [resolve(cwd, command)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((directory) => join(directory, command));
  let isDenied = false;
  for (const candidate of candidates) {
    try {
      accessSync(candidate, constants.X_OK);
      if (statSync(candidate).isFile()) return candidate;
    } catch (error) {
      isDenied ||= findErrorCode(error) === 'EACCES';
    }
  }
  throw new Error(isDenied ? `${command} is not executable` : `the program ${command} was not found`);
}
