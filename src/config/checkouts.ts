// Where the checkouts of runs are, and which files of this machine briefs may name.
import { isAbsolute, relative, sep } from 'node:path';
import type { Checkouts } from '../ports/checkouts.ts';
import type { Crash } from '../ports/crash.ts';
import type { CheckoutsOptions } from '../workspaces/checkouts.ts';
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
  if (worker) return createLazily({ env, exclude, crash, root: worker.root, shared: worker.shared, placesRoots: true });
  return createLazily({ env, exclude, crash, root: userStateFolder(env), shared: 'all' });
}

/** Loaded at first use: few runs have files of their own. */
function createLazily(options: CheckoutsOptions): Checkouts {
  let created: Promise<Checkouts> | null = null;
  const checkouts = () => {
    created ??= import('../workspaces/checkouts.ts').then(({ createCheckouts }) => createCheckouts(options));
    return created;
  };
  return {
    placesRoots: options.placesRoots ?? false,
    prepare: async (request) => (await checkouts()).prepare(request),
    findProblem: async (request) => (await checkouts()).findProblem(request),
    find: async (runId, data) => (await checkouts()).find(runId, data),
    save: async (runId, prepared) => (await checkouts()).save(runId, prepared),
    changes: {
      plan: async (request) => (await checkouts()).changes.plan(request),
      carryOut: async (workspace, set, carryOut) => (await checkouts()).changes.carryOut(workspace, set, carryOut),
      findUnmade: async (workspace, set) => (await checkouts()).changes.findUnmade(workspace, set),
      findTemporary: async (workspace, set, which) => (await checkouts()).changes.findTemporary(workspace, set, which),
    },
    remove: async (runId, prepared) => (await checkouts()).remove(runId, prepared),
    leftovers: async () => (await checkouts()).leftovers(),
    discardFolder: async (path) => (await checkouts()).discardFolder(path),
    forget: async (runIds) => (await checkouts()).forget(runIds),
  };
}
