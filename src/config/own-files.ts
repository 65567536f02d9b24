// Retinue's own files inside a workspace: a database named by `--db`, the user's configuration, trust list and keys, and sockets. Rules close them to
// every tool and every command. `.retinue` needs no rule: it is always closed.
import { realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { Rule, Ruleset } from '../contract/grant.ts';
import { type Env, userConfigFolder } from './user-folders.ts';

const owner = "built-in, for Retinue's own files";
/** The files of a database, and its draft before it gets its name. */
const databaseFiles = (name: string) => [name, `${name}-wal`, `${name}-shm`, `${name}-journal`, `.${name}.*`];

export interface OwnFilesOptions {
  workspace: string;
  db: string | null;
  env: Env;
}

/** None if nothing of it is inside the workspace. */
export function ownFilesRulesets({ workspace, db, env }: OwnFilesOptions): Ruleset[] {
  const database = db === null ? [] : databaseFiles(basename(db)).map((name) => join(dirname(db), name));
  const sockets = join(env.TMPDIR || '/tmp', `retinue-${process.getuid?.() ?? ''}`);
  const inside = [...new Set([...database, userConfigFolder(env), sockets].flatMap((path) => pathsInside(workspace, path)))];
  const open = inside.filter((path) => !path.split('/').includes('.retinue'));
  if (open.length === 0) return [];
  const rules = open.flatMap((pattern) => (['read', 'write'] as const).map((tool): Rule => ({ action: 'deny', pattern, tool })));
  return [{ kind: 'narrowing', owner, rules }];
}

/** The path as given and the real path, as far as they are inside. */
function pathsInside(workspace: string, path: string): string[] {
  const root = resolveExisting(workspace);
  const real = join(resolveExisting(dirname(path)), basename(path));
  return [relative(workspace, path), relative(root, real)]
    .filter((inside) => inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside))
    .map((inside) => inside.split(sep).join('/'));
}

function resolveExisting(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(resolveExisting(dirname(path)), basename(path));
  }
}
