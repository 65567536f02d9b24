// What a sandbox shows and hides of the system.
import { lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { isPathUnder, type Mount } from './mounts.ts';

/** Programs and what they need. No user data: no /home, /root, /run, /srv, /var, /mnt. */
export const systemTops: readonly string[] = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt', '/nix', '/etc'];
/**
 * Directories that are searched for files that other users may not read, and how deep. The rest of /usr and /nix comes from public packages. The number of
 * entries is bounded, because the first command of a process waits for the search.
 */
const searched: [string, number][] = [
  ['/etc', 5],
  ['/usr/local', 3],
  ['/opt', 3],
];
const maxEntries = 10_000;
/** The event loop runs after so many entries. */
const entriesPerTurn = 200;

/** The system, read-only. */
export function systemMounts(): Mount[] {
  return systemTops.flatMap(topMounts);
}

/** Hides files that other users may not read, such as /etc/shadow, host keys and tables of the kernel. Directories in `path` (PATH) stay visible. */
export async function hiddenSystemFiles(path: string, directories: readonly [string, number][] = searched): Promise<Mount[]> {
  const programs = path.split(delimiter).filter((entry) => isAbsolute(entry));
  const left = { entries: maxEntries };
  const found: Mount[] = [];
  for (const [folder, depth] of directories) found.push(...(await findHiddenIn(folder, { depth, programs, left })));
  const kernels = await findHiddenIn('/proc', { depth: 1, programs: [], left: { entries: maxEntries } });
  return [...found, ...kernels.filter((mount) => !/^\/proc\/\d/.test(mount.path))];
}

function topMounts(path: string): Mount[] {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return [{ kind: 'link', path, target: readlinkSync(path) }];
    return stats.isDirectory() ? [{ kind: 'read', path }] : [];
  } catch {
    return [];
  }
}

interface HiddenSearch {
  depth: number;
  programs: string[];
  left: { entries: number };
}

async function findHiddenIn(folder: string, search: HiddenSearch): Promise<Mount[]> {
  const { depth, left } = search;
  const found: Mount[] = [];
  for (const name of listNames(folder)) {
    if (left.entries-- <= 0) break;
    if (left.entries % entriesPerTurn === 0) await setImmediate();
    const path = join(folder, name);
    const what = classifyEntry(path, search.programs);
    if (what === 'closed folder' || what === 'closed file') found.push({ kind: 'hide', path, folder: what === 'closed folder' });
    else if (what === 'folder' && depth > 1) found.push(...(await findHiddenIn(path, { ...search, depth: depth - 1 })));
  }
  return found;
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function classifyEntry(path: string, programs: string[]): 'closed folder' | 'closed file' | 'folder' | null {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return null;
    const isFolder = stats.isDirectory();
    const holdsPrograms = isFolder && programs.some((program) => isPathUnder(program, path));
    if ((stats.mode & 0o004) === 0 && !holdsPrograms) return isFolder ? 'closed folder' : 'closed file';
    return isFolder ? 'folder' : null;
  } catch {
    return null;
  }
}

/** The resolver configuration, if /etc/resolv.conf is a link to a file elsewhere. */
export function resolverMounts(): Mount[] {
  try {
    const path = realpathSync('/etc/resolv.conf');
    return path.startsWith('/etc/') ? [] : [{ kind: 'read', path }];
  } catch {
    return [];
  }
}
