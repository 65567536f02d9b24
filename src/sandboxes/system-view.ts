import { lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { type Mount, under } from './mounts.ts';

/** Programs and what they need. Nothing of anybody's data: no /home, /root, /run, /srv, /var, /mnt. */
const tops = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt', '/nix', '/etc'];
/**
 * Where files are looked for that other users may not read, and how deep. The rest of /usr and /nix comes from packages, which everybody has. All in
 * all so many entries are looked at: a call waits for it once in each process.
 */
const searched: [string, number][] = [
  ['/etc', 5],
  ['/usr/local', 3],
  ['/opt', 3],
];
const maxEntries = 10_000;

export const systemTops: readonly string[] = tops;

/** The system as commands see it: read only. */
export function systemView(): Mount[] {
  return tops.flatMap(shown);
}

/** What other users may not read either, such as /etc/shadow, host keys and the kernel's own tables. `path`: programs in it stay. */
export function systemSecrets(path: string, places: readonly [string, number][] = searched): Mount[] {
  const programs = path.split(delimiter).filter((entry) => isAbsolute(entry));
  const left = { entries: maxEntries };
  const kernels = secretsIn('/proc', { depth: 1, programs: [], left: { entries: maxEntries } });
  return [
    ...places.flatMap(([folder, depth]) => secretsIn(folder, { depth, programs, left })),
    ...kernels.filter((mount) => !/^\/proc\/\d/.test(mount.path)),
  ];
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

interface Search {
  depth: number;
  programs: string[];
  left: { entries: number };
}

function secretsIn(folder: string, search: Search): Mount[] {
  const { depth, programs, left } = search;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name): Mount[] => {
    if (left.entries-- <= 0) return [];
    const path = join(folder, name);
    try {
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) return [];
      const isFolder = stats.isDirectory();
      const holdsPrograms = isFolder && programs.some((program) => under(program, path));
      if ((stats.mode & 0o004) === 0 && !holdsPrograms) return [{ kind: 'hide', path, folder: isFolder }];
      return isFolder && depth > 1 ? secretsIn(path, { ...search, depth: depth - 1 }) : [];
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
