// Where the checkouts of runs are, and which files of this machine briefs may name.
import { isAbsolute, relative, sep } from 'node:path';
import type { Checkouts } from '../ports/checkouts.ts';
import type { Crash } from '../ports/crash.ts';
import { createCheckouts } from '../workspaces/checkouts.ts';
import { type Env, userStateFolder } from './user-folders.ts';

/** For a worker: the folder for its checkouts, and the folders that briefs may name (all files in them). */
export interface WorkerFolders {
  root: string;
  shared: readonly string[];
}

export interface CheckoutSettings {
  env: Env;
  workspace: string;
  /** The database file, if there is one. */
  db: string | null;
  /** Absent: the briefs are the user's own, and roots use the workspace. */
  worker?: WorkerFolders | undefined;
  crash?: Crash | undefined;
}

export function openCheckouts({ env, workspace, db, worker, crash }: CheckoutSettings): Checkouts {
  const inside = db === null ? '..' : relative(workspace, db);
  const isInside = inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
  // A database in the workspace is part of no copy.
  const exclude = isInside ? [`/${inside.split(sep).join('/')}*`] : [];
  if (worker) return createCheckouts({ env, exclude, crash, root: worker.root, shared: worker.shared, placesRoots: true });
  return createCheckouts({ env, exclude, crash, root: userStateFolder(env), shared: 'all' });
}
