// Reads the rules about paths that `rules/path-rules.ts` derives.
import type { PathRule } from '../contract/closed-paths.ts';
import { canMatchFrom, matchesAllFrom, matchesWildcard } from './wildcard.ts';

/** `path`: relative to the workspace, which itself is `.`. */
export function isPathClosed(lists: readonly PathRule[][], path: string): boolean {
  return lists.some((rules) => rules.findLast((rule) => ruleMatchesPath(rule, path))?.closed === true);
}

/** Whether the name of a file is hidden as well as its content. A rule about every path closes contents only. */
export function isNameHidden(lists: readonly PathRule[][], path: string): boolean {
  return isPathClosed(
    lists.map((rules) => rules.filter(({ pattern }) => pattern !== null)),
    path,
  );
}

function ruleMatchesPath({ closed, pattern }: PathRule, path: string): boolean {
  return pattern === null || (closed ? coversPath(pattern, path) : matchesWildcard(pattern, path));
}

/** Whether a pattern that closes paths matches a path or a folder above it. */
export function coversPath(pattern: string, path: string): boolean {
  if (matchesWildcard(pattern, path)) return true;
  for (let at = path.indexOf('/', 1); at !== -1; at = path.indexOf('/', at + 1))
    if (matchesWildcard(pattern, path.slice(0, at))) return true;
  return false;
}

/** Whether every path in the folder is closed, also paths that do not exist yet. An exception that a later rule makes counts as open. */
export function isAllClosedIn(lists: readonly PathRule[][], folder: string): boolean {
  const start = folder === '.' ? '' : `${folder}/`;
  return lists.some((rules) => {
    const closesAll = (pattern: string | null) => pattern === null || matchesAllFrom(pattern, start) || coversPath(pattern, folder);
    const at = rules.findLastIndex(({ closed, pattern }) => closed && closesAll(pattern));
    return at !== -1 && !rules.slice(at + 1).some(({ closed, pattern }) => !closed && (pattern === null || canMatchFrom(pattern, start)));
  });
}

/** Whether some path in the folder may be closed. */
export function mayCloseIn(lists: readonly PathRule[][], folder: string): boolean {
  const start = folder === '.' ? '' : `${folder}/`;
  return lists.some((rules) =>
    rules.some(({ closed, pattern }) => closed && (pattern === null || canMatchFrom(pattern, start) || coversPath(pattern, folder))),
  );
}
