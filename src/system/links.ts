// The symbolic links on the way to a file. Whoever may replace one of them decides which file the path means.
import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

/** As many as Linux follows. */
const maxLinks = 40;

export interface LinkOnPath {
  /** Absolute; no folder above it is a link, if `root` is a real path. */
  path: string;
  /** As the link has it. */
  target: string;
}

/** The links that the system follows from `root` to `path`, links that links lead to included. Names that do not exist end the search. */
export function findLinksOnPath(root: string, path: string): LinkOnPath[] {
  const found: LinkOnPath[] = [];
  let at = root;
  let names = path.split('/');
  while (names.length > 0) {
    const [name = '', ...rest] = names;
    names = rest;
    if (name === '' || name === '.') continue;
    if (name === '..') {
      at = dirname(at);
      continue;
    }
    const target = readLink(join(at, name));
    if (target === null) at = join(at, name);
    else {
      if (found.push({ path: join(at, name), target }) > maxLinks) return found;
      if (isAbsolute(target)) at = '/';
      names = [...target.split('/'), ...rest];
    }
  }
  return found;
}

/** Null if the path is no link or cannot be read. */
export function readLink(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}
