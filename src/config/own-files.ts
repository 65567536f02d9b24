// Retinue's own files: a database named by `--db`, the user's configuration, trust list and keys, and sockets. Rules close them to every tool and every
// command, in the workspace and in added folders. `.retinue` needs no rule: it is always closed.
import { realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { Rule, Ruleset } from '../contract/grant.ts';
import { type Env, userConfigFolder } from './user-folders.ts';

const owner = "built-in, for Retinue's own files";

export interface OwnFilesOptions {
  workspace: string;
  /** Folders outside the workspace that tools may read. */
  readable: readonly string[];
  db: string | null;
  env: Env;
}

/** Files and folders that no tool and no command may reach, wherever they are. */
export function listOwnPaths({ db, env }: Pick<OwnFilesOptions, 'db' | 'env'>): string[] {
  const database = db === null ? [] : ['', '-wal', '-shm', '-journal'].map((suffix) => `${db}${suffix}`);
  return [...database, userConfigFolder(env), join(env.TMPDIR || '/tmp', `retinue-${process.getuid?.() ?? ''}`)];
}

/** None if nothing of it is in the workspace or in an added folder. */
export function ownFilesRulesets({ workspace, readable, db, env }: OwnFilesOptions): Ruleset[] {
  // A new database has another name until it is complete.
  const drafts = db === null ? [] : [join(dirname(db), `.${basename(db)}.*`)];
  const own = [...listOwnPaths({ db, env }), ...drafts];
  const inWorkspace = own.flatMap((path) => pathsInside(workspace, path)).map((path) => (path === '.' ? '*' : path));
  const inAdded = readable.flatMap((folder) => own.flatMap((path) => pathsInside(folder, path).map((inside) => join(folder, inside))));
  const open = [...new Set([...inWorkspace, ...inAdded])].filter((path) => !path.split('/').includes('.retinue'));
  if (open.length === 0) return [];
  const rules = open.flatMap((pattern) => (['read', 'write'] as const).map((tool): Rule => ({ action: 'deny', pattern, tool })));
  return [{ kind: 'narrowing', owner, rules }];
}

/** The path as given and the real path, as far as they are in the folder. `.` if the folder itself is the path or is below it. */
function pathsInside(folder: string, path: string): string[] {
  const root = resolveExisting(folder);
  const real = join(resolveExisting(dirname(path)), basename(path));
  if ([path, real, resolveExisting(path)].some((each) => isUnder(folder, each) || isUnder(root, each))) return ['.'];
  return [relative(folder, path), relative(root, real), relative(root, resolveExisting(path))]
    .filter((inside) => inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside))
    .map((inside) => inside.split(sep).join('/'));
}

function isUnder(path: string, top: string): boolean {
  const inside = relative(top, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

function resolveExisting(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(resolveExisting(dirname(path)), basename(path));
  }
}
