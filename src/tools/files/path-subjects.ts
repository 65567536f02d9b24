import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { inside, shown } from './paths.ts';

/**
 * What rules match a path against: the path inside the workspace and, where links lead elsewhere, the real one as well, so that
 * a link does not get around a rule. A path outside stands as it is.
 */
export function pathSubjects(path: string, workspace: string): string[] {
  const root = realOf(workspace);
  const asked = inside([root, workspace], path);
  if (asked === null) return [path.toWellFormed()];
  const real = realOf(join(root, asked));
  const target = inside([root], real) ?? real;
  return asked === target ? [shown(asked)] : [shown(asked), shown(target)];
}

/** The real path; names at the end that do not exist or cannot be looked at are kept. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(realOf(dirname(path)), basename(path));
  }
}
