import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { dieWithParent } from '../../system/die-with-parent.ts';
import { codeOf } from '../refusal.ts';
import type { Target } from './resolve-target.ts';

/**
 * What is started for a command: on Linux behind a guard that becomes the command, so that the system kills it when this process dies,
 * however it dies. Elsewhere the end of its input must do. Throws an Error that says why it cannot be started.
 */
export function launch({ command, args, cwd, env }: Extract<Target, { kind: 'command' }>): [program: string, args: string[]] {
  const program = find(command, cwd, env.PATH ?? '');
  const [first, ...rest] = [...dieWithParent(), program, ...args] as [string, ...string[]];
  return [first, rest];
}

function find(command: string, cwd: string, path: string): string {
  const places = command.includes('/')
    ? [resolve(cwd, command)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((place) => join(place, command));
  let isThere = false;
  for (const place of places) {
    try {
      accessSync(place, constants.X_OK);
      if (statSync(place).isFile()) return place;
    } catch (error) {
      isThere ||= codeOf(error) === 'EACCES';
    }
  }
  throw new Error(isThere ? `${command} may not be executed` : `there is no program ${command}`);
}
