// Finds the files that the rules of a run close, so that a sandbox can hide them or make them read-only. A folder that is closed as a whole is returned
// as one path, so files that appear in it later are closed too.
import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { PathRule } from '../../../contract/closed-paths.ts';
import { isAllClosedIn, isPathClosed, mayCloseIn } from '../../../text/closed-paths.ts';
import { literalStart } from '../../../text/wildcard.ts';
import { displayPath, pathInside } from '../../files/paths.ts';
import { errorCode, type Refusal, refuse } from '../../refusal.ts';

/** Every command waits for this search. */
const maxEntries = 200_000;
const maxFound = 2_000;

/**
 * Paths of the workspace; '' is the workspace itself. A path below another one is left out. `prefix`: precedes the paths for rules, if `root` is
 * another folder; empty or ending with `/`.
 */
export async function findClosedPaths(
  root: string,
  lists: readonly PathRule[][],
  prefix = '',
): Promise<{ ok: true; paths: string[] } | Refusal> {
  if (lists.length === 0) return { ok: true, paths: [] };
  if (isAllClosedIn(lists, prefix === '' ? '.' : prefix.slice(0, -1))) return { ok: true, paths: [''] };
  const search = { root, lists, prefix, found: new Set<string>(), left: maxEntries };
  try {
    await searchFolder(search, '');
  } catch (error) {
    if (error instanceof SearchError) return refuse(`the command was not started: ${error.message}`);
    throw error;
  }
  return { ok: true, paths: [...search.found] };
}

class SearchError extends Error {}

interface ClosedSearch {
  root: string;
  lists: readonly PathRule[][];
  prefix: string;
  found: Set<string>;
  left: number;
}

async function searchFolder(search: ClosedSearch, folder: string): Promise<void> {
  for (const entry of await listEntries(join(search.root, folder))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (--search.left < 0) throw new SearchError(tooManyEntries);
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && (await isNamedLink(search, path)));
    const shown = search.prefix + path;
    if (isFolder ? isAllClosedIn(search.lists, shown) : isPathClosed(search.lists, shown)) {
      if (search.found.add(path).size > maxFound) throw new SearchError(tooManyFound);
    } else if (isFolder && mayCloseIn(search.lists, shown)) await searchFolder(search, path);
  }
}

const tooManyEntries = `the rules about paths make it search more than ${maxEntries} files; begin their patterns with a folder`;
const tooManyFound = `the rules about paths close more than ${maxFound} files one by one; close their folders instead`;

/** A link is followed only if a rule names something behind it; other rules find the files where they really are. */
async function isNamedLink({ root, lists, prefix }: ClosedSearch, path: string): Promise<boolean> {
  const isNamed = lists.some((rules) =>
    rules.some(({ closed, pattern }) => closed && literalStart(pattern ?? '').startsWith(`${prefix}${path}/`)),
  );
  if (!isNamed) return false;
  const real = await realpath(join(root, path)).catch(() => null);
  return real !== null && pathInside([root], real) !== null;
}

/** A folder that does not exist has no files; one that cannot be read may have some, so no command starts. */
async function listEntries(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(error))) return [];
    throw new SearchError(`a folder that rules may close cannot be read (${displayPath(folder)}: ${errorCode(error)})`);
  }
}
