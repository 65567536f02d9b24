import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** All that a command sees of the environment (invariant 11): keys and tokens of the process stay with it. */
const passed = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR'];
const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export type Environment = Record<string, string | undefined>;

export function environmentOf(own: Environment): Record<string, string> {
  const kept: Record<string, string> = { LANG: 'C.UTF-8', TERM: 'dumb' };
  for (const name of passed) if (own[name]) kept[name] = own[name];
  // A relative entry would find programs in the workspace.
  const path = (own.PATH ?? '').split(delimiter).filter((entry) => isAbsolute(entry));
  kept.PATH = path.length > 0 ? path.join(delimiter) : usualPath;
  return kept;
}

/** bash, or the system's plain shell where there is none. Never one that lies in the workspace. */
export function shellIn(path: string, workspace: string): string {
  const places = ['/bin', '/usr/bin', ...path.split(delimiter)].filter((place) => !`${place}/`.startsWith(`${workspace}/`));
  return places.map((place) => join(place, 'bash')).find(isExecutable) ?? '/bin/sh';
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
