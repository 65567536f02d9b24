// Finds the files that the rules of a run close, so that a sandbox can hide them or make them read-only. A folder that is closed as a whole is returned
// as one path, so files that appear in it later are closed too.
import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { PathRule } from '../../../contract/closed-paths.ts';
import { isAllClosedIn, isPathClosed, mayCloseIn } from '../../../text/closed-paths.ts';
import { literalStart } from '../../../text/wildcard.ts';
import { displayPath, pathInside } from '../../files/paths.ts';
import { createToolRefusal, findErrorCode, type Refusal } from '../../refusal.ts';

/** Every command waits for this search. */
const maxEntries = 200_000;
const maxFound = 2_000;

/** Folders of packages: their files are not the project's, and there may be very many. */
const packageFolders = ['node_modules', 'site-packages', '.git'];
const maxNestedEntries = 50_000;

export interface ClosedSearchOptions {
  /** Precedes the paths for rules, if `root` is another folder; empty or ending with `/`. */
  prefix?: string;
  /** Whether to look for the files of built-in rules in nested folders too. */
  nested?: boolean;
}

/** `paths`: paths of the workspace; '' is the workspace itself. `isPartial`: the workspace is too large to find nested files of built-in rules. */
export type ClosedPathsFound = { ok: true; paths: string[]; isPartial: boolean } | Refusal;

export async function findClosedPaths(
  root: string,
  lists: readonly PathRule[][],
  { prefix = '', nested = true }: ClosedSearchOptions = {},
): Promise<ClosedPathsFound> {
  if (lists.length === 0) return { ok: true, paths: [], isPartial: false };
  if (isAllClosedIn(lists, prefix === '' ? '.' : prefix.slice(0, -1))) return { ok: true, paths: [''], isPartial: false };
  const search = { root, lists: lists.map(withoutNested), prefix, found: new Set<string>(), left: maxEntries, leftOut: [] };
  try {
    await searchFolder(search, '');
  } catch (error) {
    if (error instanceof SearchError) return createToolRefusal(`the command was not started: ${error.message}`);
    throw error;
  }
  const builtIn = nested ? await findNested({ ...search, lists: lists.filter((rules) => rules.some(isNested)) }) : [];
  return { ok: true, paths: [...new Set([...search.found, ...(builtIn ?? [])])], isPartial: builtIn === null };
}

/** The files of built-in rules in nested folders; null if the workspace is too large for a search before every command. */
async function findNested(search: ClosedSearch): Promise<string[] | null> {
  if (search.lists.length === 0) return [];
  const found = new Set<string>();
  try {
    await searchFolder({ ...search, found, left: maxNestedEntries, leftOut: packageFolders }, '');
    return [...found];
  } catch (error) {
    if (error instanceof SearchError) return null;
    throw error;
  }
}

function isNested({ builtIn, pattern }: PathRule): boolean {
  return builtIn === true && pattern?.startsWith('**/') === true;
}

/** Built-in rules for the top folder alone. */
function withoutNested(rules: PathRule[]): PathRule[] {
  return rules.map((rule) => (isNested(rule) ? { ...rule, pattern: (rule.pattern as string).slice('**/'.length) } : rule));
}

class SearchError extends Error {}

interface ClosedSearch {
  root: string;
  lists: readonly PathRule[][];
  prefix: string;
  found: Set<string>;
  left: number;
  /** Names of folders that are not searched. */
  leftOut: readonly string[];
}

async function searchFolder(search: ClosedSearch, folder: string): Promise<void> {
  for (const entry of await listEntries(join(search.root, folder))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (--search.left < 0) throw new SearchError(tooManyEntries);
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && (await isNamedLink(search, path)));
    const shown = search.prefix + path;
    if (entry.name.includes(garbled) && (isPathClosed(search.lists, shown) || (isFolder && mayCloseIn(search.lists, shown)))) {
      if (search.leftOut.length > 0) continue;
      throw new SearchError(`rules about paths cannot close ${path}, whose name is not valid UTF-8; rename it`);
    }
    if (isFolder ? isAllClosedIn(search.lists, shown) : isPathClosed(search.lists, shown)) {
      if (search.found.add(path).size > maxFound) throw new SearchError(tooManyFound);
    } else if (isFolder && !search.leftOut.includes(entry.name) && mayCloseIn(search.lists, shown)) await searchFolder(search, path);
  }
}

/** Stands for bytes that are no UTF-8. A file with such a name cannot be opened or hidden by it. */
const garbled = '\uFFFD';

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
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(findErrorCode(error))) return [];
    throw new SearchError(`a folder that rules may close cannot be read (${displayPath(folder)}: ${findErrorCode(error)})`);
  }
}
