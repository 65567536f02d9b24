import { accessSync, constants, realpathSync } from 'node:fs';
import { basename } from 'node:path';

/** Util-linux's; that of busybox does not have the option. */
const places = ['/usr/bin/setpriv', '/bin/setpriv'];

/**
 * What to put before a command so that the system kills it when this process dies, however it dies: a helper that becomes the command. Only
 * on Linux, and only where there is the helper. It follows the thread that spawns, so never spawn from a worker thread.
 */
export function dieWithParent(): string[] {
  const helper = process.platform === 'linux' ? places.find(isHelper) : undefined;
  return helper === undefined ? [] : [helper, '--pdeathsig', 'KILL', '--'];
}

function isHelper(place: string): boolean {
  try {
    accessSync(place, constants.X_OK);
    return basename(realpathSync(place)) === 'setpriv';
  } catch {
    return false;
  }
}
