import { lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Mount } from './mounts.ts';

/** Programs and what they need. Nothing of anybody's data: no /home, /root, /run, /srv, /var, /mnt. */
const tops = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt', '/nix', '/etc'];
/** Deeper files of /etc are looked for this far. */
const depth = 5;

export const systemTops: readonly string[] = tops;

/** The system as commands see it: read only. */
export function systemView(): Mount[] {
  return tops.flatMap(shown);
}

/** What other users may not read either, such as /etc/shadow, host keys and the kernel's own tables. */
export function systemSecrets(): Mount[] {
  const kernels = secretsIn('/proc', 1).filter(({ path }) => !/^\/proc\/\d/.test(path));
  return [...secretsIn('/etc', depth), ...kernels];
}

function shown(path: string): Mount[] {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return [{ kind: 'link', path, target: readlinkSync(path) }];
    return stats.isDirectory() ? [{ kind: 'read', path }] : [];
  } catch {
    return [];
  }
}

function secretsIn(folder: string, deeper: number): Mount[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name): Mount[] => {
    const path = join(folder, name);
    try {
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) return [];
      if ((stats.mode & 0o004) === 0) return [{ kind: 'hide', path, folder: stats.isDirectory() }];
      return stats.isDirectory() && deeper > 1 ? secretsIn(path, deeper - 1) : [];
    } catch {
      return [];
    }
  });
}

/** How names are resolved, where /etc only points to it. */
export function resolverView(): Mount[] {
  try {
    const path = realpathSync('/etc/resolv.conf');
    return path.startsWith('/etc/') ? [] : [{ kind: 'read', path }];
  } catch {
    return [];
  }
}
