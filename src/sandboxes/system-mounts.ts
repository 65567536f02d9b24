import { lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
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
const turnEntries = 200;

export const systemTops: readonly string[] = tops;

/** The system as commands see it: read only. */
export function systemView(): Mount[] {
  return tops.flatMap(shown);
}

/**
 * What other users may not read either, such as /etc/shadow, host keys and the kernel's own tables. `path`: programs in it stay. Others get their
 * turn in between: it may be thousands of files.
 */
export async function systemSecrets(path: string, places: readonly [string, number][] = searched): Promise<Mount[]> {
  const programs = path.split(delimiter).filter((entry) => isAbsolute(entry));
  const left = { entries: maxEntries };
  const found: Mount[] = [];
  for (const [folder, depth] of places) found.push(...(await secretsIn(folder, { depth, programs, left })));
  const kernels = await secretsIn('/proc', { depth: 1, programs: [], left: { entries: maxEntries } });
  return [...found, ...kernels.filter((mount) => !/^\/proc\/\d/.test(mount.path))];
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

async function secretsIn(folder: string, search: Search): Promise<Mount[]> {
  const { depth, left } = search;
  const found: Mount[] = [];
  for (const name of namesIn(folder)) {
    if (left.entries-- <= 0) break;
    if (left.entries % turnEntries === 0) await setImmediate();
    const path = join(folder, name);
    const what = lookAt(path, search.programs);
    if (what === 'closed folder' || what === 'closed file') found.push({ kind: 'hide', path, folder: what === 'closed folder' });
    else if (what === 'folder' && depth > 1) found.push(...(await secretsIn(path, { ...search, depth: depth - 1 })));
  }
  return found;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function lookAt(path: string, programs: string[]): 'closed folder' | 'closed file' | 'folder' | null {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return null;
    const isFolder = stats.isDirectory();
    const holdsPrograms = isFolder && programs.some((program) => under(program, path));
    if ((stats.mode & 0o004) === 0 && !holdsPrograms) return isFolder ? 'closed folder' : 'closed file';
    return isFolder ? 'folder' : null;
  } catch {
    return null;
  }
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
