// Checks settings when a server starts. Otherwise a wrong setting would fail the first request of a client, long after the person who could correct it has
// looked away.
import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import type { DatabaseTarget } from './database-setting.ts';
import { checkModelName } from './models.ts';
import { assertToolNames } from './rulesets.ts';
import type { Settings } from './settings.ts';
import type { Env } from './user-folders.ts';

/** Rejects with `invalid_rule` or `unknown_model` if every run, or every run of an agent with a model of its own, would be refused. Asks no provider. */
export async function assertRunnable(settings: Settings, env: Env): Promise<void> {
  const { ownerRules, narrowingRules, model, routes, workspace, providers } = settings;
  assertToolNames([...ownerRules, ...narrowingRules], []);
  const named = [...(model ? [{ from: model.from, name: model.value }] : []), ...Object.values(routes).flatMap(toNames)];
  // The path of a script belongs to the folder of a run, which a client may choose.
  for (const { from, name } of named.filter((each) => !each.name.startsWith('script/')))
    await checkModelName(name, { env, workspace, providers }).catch((error: Error) => {
      throw new RetinueError('unknown_model', `model, from ${from}: ${error.message}`, { cause: error });
    });
}

function toNames({ from, value }: Settings['routes'][string]): { from: string; name: string }[] {
  return value.map((name) => ({ from, name }));
}

/** Throws `usage` if no database can be opened there. Creates nothing. */
export function assertDatabaseReachable(db: DatabaseTarget): void {
  if (db.kind !== 'file') return;
  let path = db.path;
  for (;;) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined && dirname(path) !== path) {
      path = dirname(path);
      continue;
    }
    const isFolder = stat?.isDirectory() ?? false;
    if (path !== db.path && !isFolder)
      throw new RetinueError('usage', `the database ${db.path} cannot be created: ${path} is not a folder; name another one with --db`);
    assertWritable(path, db.path, isFolder);
    return;
  }
}

function assertWritable(path: string, db: string, isFolder: boolean): void {
  try {
    accessSync(path, constants.W_OK | constants.R_OK | (isFolder ? constants.X_OK : 0));
  } catch (error) {
    const what = path === db ? 'used' : 'created';
    throw new RetinueError('usage', `the database ${db} cannot be ${what}: you may not write to ${path}; name another one with --db`, {
      cause: error,
    });
  }
}
