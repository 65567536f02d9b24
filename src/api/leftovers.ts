// Folders of runs that were left on this machine, and which of them may go.
import { findHomeState } from '../kernel/external/homes.ts';
import type { Checkouts } from '../ports/checkouts.ts';
import type { RunFolders } from '../ports/run-folders.ts';
import type { Store } from '../ports/store.ts';

/**
 * `live`: its run has not ended. `stored`: its run has ended, and what it changed is stored or was discarded. `unsaved`: its run has ended, and the folder is the only
 * place with its changes. `unknown`: of a run in another database. `draft`: of a process that was killed.
 */
export interface LeftFolder {
  path: string;
  runId: string | null;
  /** `files`: a copy of files that a run worked on. `agent`: the home of an external agent, or its sockets. */
  kind: 'files' | 'agent';
  state: 'live' | 'stored' | 'unsaved' | 'unknown' | 'draft';
}

export interface LeftFolderDeps {
  checkouts: Checkouts | undefined;
  homes: RunFolders | undefined;
}

export async function findLeftFolders(store: Store, { checkouts, homes }: LeftFolderDeps): Promise<LeftFolder[]> {
  const found: LeftFolder[] = [];
  for (const { path, runId } of (await checkouts?.leftovers()) ?? [])
    found.push({ path, runId, kind: 'files', state: runId === null ? 'draft' : await findFilesState(runId, store) });
  for (const { path, runId } of (await homes?.leftovers()) ?? []) {
    const state = await findHomeState(runId, store);
    found.push({ path, runId, kind: 'agent', state: state === 'ended' ? 'stored' : state });
  }
  return found;
}

async function findFilesState(runId: string, store: Store): Promise<LeftFolder['state']> {
  const row = await store.run(runId);
  if (!row) return 'unknown';
  if (row.endedAt === null) return 'live';
  if (row.erasedAt !== undefined) return 'stored';
  const [saved] = (await store.facts({ runId, types: ['workspace.saved'] })).slice(-1);
  if (saved?.type === 'workspace.saved' && saved.data.left === undefined) return 'stored';
  const discarded = await store.facts({ types: ['changes.discarded'] });
  return discarded.some((fact) => fact.type === 'changes.discarded' && fact.data.runs.includes(runId)) ? 'stored' : 'unsaved';
}

/** Deletes what is stored, and drafts. Returns what was deleted. */
export async function removeLeftFolders(store: Store, deps: LeftFolderDeps): Promise<LeftFolder[]> {
  const found = (await findLeftFolders(store, deps)).filter(({ state }) => state === 'stored' || state === 'draft');
  for (const { path, kind } of found) await (kind === 'files' ? deps.checkouts : deps.homes)?.discardFolder(path);
  return found;
}
