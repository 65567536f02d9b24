// Binds the lifetime of a started command to this process, on Linux.
import { accessSync, constants, realpathSync } from 'node:fs';
import { basename } from 'node:path';

/** setpriv of util-linux; the one of busybox lacks the option. */
const candidates = ['/usr/bin/setpriv', '/bin/setpriv'];

/**
 * Arguments to put before a command so that the kernel kills it when this process dies, however it dies. The helper replaces itself with the
 * command. Empty except on Linux with the helper installed. The kernel watches the spawning thread, so never spawn from a worker thread.
 */
export function dieWithParent(): string[] {
  const helper = process.platform === 'linux' ? candidates.find(isSetpriv) : undefined;
  return helper === undefined ? [] : [helper, '--pdeathsig', 'KILL', '--'];
}

function isSetpriv(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return basename(realpathSync(path)) === 'setpriv';
  } catch {
    return false;
  }
}
