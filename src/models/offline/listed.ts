import { below, glob, list } from './calls.ts';
import type { Call, Conversation, Result } from './conversation.ts';
import { isLeftOutBelow, isSurveyed } from './languages.ts';
import { maxFolders, maxSubfolders } from './limits.ts';
import { type Listing, parseList, parsePaths } from './outputs.ts';
import type { Scope } from './scope.ts';
import { byName } from './text.ts';

/** The files of a scope: which there are, and the sizes that came with the first look. */
export interface Listed {
  /** Sorted; without what a survey leaves out. */
  files: string[];
  known: ReadonlySet<string>;
  sizes: ReadonlyMap<string, number>;
  /** Folders of which not all files are known. */
  cut: ReadonlySet<string>;
}

/** The folders that are looked at, and those for which there is no room. */
export function foldersOf(scope: Scope): { seen: string[]; unseen: string[] } {
  return { seen: scope.folders.slice(0, maxFolders), unseen: scope.folders.slice(maxFolders) };
}

export function listingCalls(scope: Scope): Call[] {
  const top = scope.files ? [list('.'), glob('*', '.')] : [];
  return [...top, ...foldersOf(scope).seen.flatMap((folder) => [list(folder), below(folder)])];
}

/** A folder with too many files for one look (a `node_modules` in it is enough) is looked at subfolder by subfolder. */
export function subfolderCalls(scope: Scope, talk: Conversation): Call[] {
  const calls = foldersOf(scope).seen.flatMap((folder) => subfolderLooks(folder, talk));
  return calls.slice(0, maxSubfolders);
}

function subfolderLooks(folder: string, talk: Conversation): Call[] {
  const whole = talk.result(below(folder));
  if (whole?.ok && !parsePaths(whole.text).cut) return [];
  const { folders } = listingOf(talk.result(list(folder)));
  const names = folders.filter((name) => !isLeftOutBelow(name)).sort(byName);
  return names.map((name) => (whole?.ok ? below(`${folder}/${name}`) : list(`${folder}/${name}`)));
}

/** `glob` says which files there are; `list` gives their sizes, and stands in where `glob` shows nothing or not all. */
export function listedOf(scope: Scope, talk: Conversation): Listed {
  const files = new Set<string>();
  const sizes = new Map<string, number>();
  const cut = new Set<string>();
  const take = (paths: string[]): void => {
    for (const path of paths) if (isSurveyed(path)) files.add(path);
  };
  const takeSizes = (folder: string): string[] => {
    const found = sizesIn(folder, talk);
    for (const [path, bytes] of found) sizes.set(path, bytes);
    return found.map(([path]) => path);
  };

  const top = talk.result(glob('*', '.'));
  if (scope.files) {
    const listed = takeSizes('.');
    take(isWhole(top) ? pathsOf(top).filter((path) => !path.includes('/')) : listed);
    if (!isWhole(top) && listingOf(talk.result(list('.'))).cut) cut.add('');
  }
  for (const folder of foldersOf(scope).seen) {
    const listed = takeSizes(folder);
    const looks = subfolderLooks(folder, talk);
    for (const look of [below(folder), ...looks]) {
      take(
        look.tool === 'list'
          ? takeSizes(String(look.input.path))
          : pathsOf(talk.result(look)).filter((path) => path.startsWith(`${folder}/`)),
      );
    }
    if (isWhole(talk.result(below(folder)))) continue;
    take(listed);
    const direct = talk.result(list(folder));
    const complete = direct?.ok && !listingOf(direct).cut && looks.every((look) => look.tool === 'glob' && isWhole(talk.result(look)));
    if (!complete) cut.add(folder);
  }
  return { files: [...files].sort(byName), known: files, sizes, cut };
}

/** Paths of the files in a folder, with their sizes, if it was listed. */
export function sizesIn(folder: string, talk: Conversation): [path: string, bytes: number][] {
  const prefix = folder === '.' ? '' : `${folder}/`;
  return listingOf(talk.result(list(folder))).files.map(({ name, bytes }) => [prefix + name, bytes]);
}

function isWhole(result: Result | null): boolean {
  return result?.ok === true && !parsePaths(result.text).cut;
}

function pathsOf(result: Result | null): string[] {
  return result?.ok ? parsePaths(result.text).paths : [];
}

function listingOf(result: Result | null): Listing {
  return result?.ok ? parseList(result.text) : { folders: [], files: [], others: 0, cut: false };
}
