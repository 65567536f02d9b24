import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join, resolve } from 'node:path';
import { codeOf } from '../refusal.ts';
import type { Target } from './settle.ts';

/** Util-linux's; that of busybox does not have the option. */
const guards = ['/usr/bin/setpriv', '/bin/setpriv'];

/**
 * What is started for a command: on Linux behind a guard that becomes the command, so that the system kills it when this process dies,
 * however it dies. Elsewhere the end of its input must do. Throws an Error that says why it cannot be started.
 */
export function launch({ command, args, cwd, env }: Extract<Target, { kind: 'command' }>): [program: string, args: string[]] {
  const program = find(command, cwd, env.PATH ?? '');
  const guard = process.platform === 'linux' ? guards.find(isGuard) : undefined;
  return guard === undefined ? [program, args] : [guard, ['--pdeathsig', 'KILL', '--', program, ...args]];
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

function isGuard(place: string): boolean {
  try {
    accessSync(place, constants.X_OK);
    return basename(realpathSync(place)) === 'setpriv';
  } catch {
    return false;
  }
}
