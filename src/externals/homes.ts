// The private homes of external agents: one folder for each run, with the agent's own settings and sessions. A home is needed until its run has ended,
// because an interrupted run continues the session in it. What an agent put there is hostile.
import { mkdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RunId } from '../contract/ids.ts';
import type { Leftover, RunFolders } from '../ports/run-folders.ts';
import { removeTree } from '../system/remove-tree.ts';
import { isDeadSocketFolder, listDeadSocketFolders } from './socket-folder.ts';

/** Creates the home of a run and the folders in it. */
export function openHome(folder: string, runId: string, inside: readonly string[]): string {
  const home = join(folder, RunId.parse(runId));
  for (const each of ['', ...inside]) mkdirSync(join(home, each), { recursive: true, mode: 0o700 });
  return home;
}

export interface ExternalHomes extends RunFolders {
  /** Where the homes are. */
  readonly folder: string;
}

export interface ExternalHomesOptions {
  folder: string;
  /** Where folders for sockets are, which killed processes leave behind. */
  temporary: string;
}

export function createExternalHomes({ folder, temporary }: ExternalHomesOptions): ExternalHomes {
  return {
    folder,
    async leftovers() {
      const names = await readdir(folder).catch(() => []);
      const homes = names.flatMap((name): Leftover[] => (RunId.safeParse(name).success ? [{ path: join(folder, name), runId: name }] : []));
      const sockets = await listDeadSocketFolders({ folder, temporary });
      return [...homes, ...sockets.map((path) => ({ path, runId: null }))];
    },
    async discardFolder(path) {
      const isHome = dirname(path) === folder && RunId.safeParse(basename(path)).success;
      if (isHome || (await isDeadSocketFolder(path, { folder, temporary }))) await removeTree(path).catch(() => {});
    },
    async forget(runIds) {
      for (const runId of runIds) if (RunId.safeParse(runId).success) await removeTree(join(folder, runId)).catch(() => {});
    },
  };
}
