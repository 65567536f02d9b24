// What rules match for a path argument.
import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { displayPath, pathInside } from './paths.ts';

/**
 * What rules match for a path: the path inside the workspace and, if links lead elsewhere, the real path as well, so that a link cannot bypass a
 * rule. A path outside the workspace is used as it is.
 */
export function pathSubjects(path: string, workspace: string): string[] {
  const root = resolveExisting(workspace);
  const asked = pathInside([root, workspace], path);
  if (asked === null) return [path.toWellFormed()];
  const real = resolveExisting(join(root, asked));
  const target = pathInside([root], real) ?? real;
  return asked === target ? [displayPath(asked)] : [displayPath(asked), displayPath(target)];
}

/** What rules match for a path once it is open: the path that was asked for and the real path that was opened. */
export function openedSubjects(asked: string, workspace: string, opened: string): string[] {
  const plain = pathInside([resolveExisting(workspace), workspace], asked) ?? asked;
  return [...new Set([displayPath(plain), displayPath(opened)])];
}

/** The real path. Names at the end that do not exist or cannot be read are kept. */
function resolveExisting(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(resolveExisting(dirname(path)), basename(path));
  }
}
