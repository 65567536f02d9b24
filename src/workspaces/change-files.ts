// Makes recorded changes to the files of a workspace: the adapter behind `ChangeFiles`.
import { mkdir } from 'node:fs/promises';
import { type ChangeSet, isSameState, type PathChange } from '../contract/change-set.ts';
import { RetinueError } from '../contract/error.ts';
import type { CarryOutOptions, ChangeFiles, PlanRequest } from '../ports/checkouts.ts';
import type { Crash } from '../ports/crash.ts';
import { forEachAtOnce } from './at-once.ts';
import { createGit, type Env } from './git.ts';
import { findFileState, findTemporary, hashBytes, readPath, replacePath } from './path-files.ts';
import { planChanges } from './plan.ts';

/** `root`: the folder for merges; files are there only for a moment. */
export interface ChangeFilesOptions {
  env: Env;
  root: string;
  crash?: Crash | undefined;
}

export function createChangeFiles({ env, root, crash = () => {} }: ChangeFilesOptions): ChangeFiles {
  const git = createGit(env, crash);
  return {
    async plan(request) {
      await mkdir(root, { recursive: true, mode: 0o700 });
      return planChanges(request, { git, root });
    },
    async findUnmade(workspace, { changes }) {
      const unmade = new Set<string>();
      await forEachAtOnce(changes, async ({ path, after }) => {
        const found = await readPath(workspace, path);
        if (found.kind === 'other' || !isSameState(findFileState(found), after)) unmade.add(path);
      });
      return changes.map(({ path }) => path).filter((path) => unmade.has(path));
    },
    carryOut: (workspace, set, options) => carryOut(workspace, set, { ...options, crash }),
    async findTemporary(workspace, { changes }, options) {
      const found: string[] = [];
      for (const { path } of changes) found.push(...[await findTemporary(workspace, path, options)].flatMap((each) => each ?? []));
      return found;
    },
  };
}

type CarryOutDeps = CarryOutOptions & { crash: Crash };

/** Files that go make place for files that come, so they are first. */
async function carryOut(workspace: string, { changes }: ChangeSet, deps: CarryOutDeps): Promise<string[]> {
  const left = new Set<string>();
  const make = async (change: PathChange) => {
    if (!(await makeChange(workspace, change, deps))) left.add(change.path);
  };
  const isGoing = ({ after }: PathChange) => after === null;
  await forEachAtOnce(changes.filter(isGoing), make);
  await forEachAtOnce(
    changes.filter((change) => !isGoing(change)),
    make,
  );
  return changes.map(({ path }) => path).filter((path) => left.has(path));
}

/** False if the path is neither as before nor as after. */
async function makeChange(workspace: string, { path, before, after }: PathChange, { read, key, crash }: CarryOutDeps): Promise<boolean> {
  // Of an earlier process, which was killed.
  await findTemporary(workspace, path, { key, remove: true });
  const found = await readPath(workspace, path);
  if (found.kind === 'other') return false;
  if (isSameState(findFileState(found), after)) return true;
  if (!isSameState(findFileState(found), before)) return false;
  const content = after && (await readContent(after.hash, read));
  const onWritten = () => crash('before workspace.path');
  const isMade = await replacePath(workspace, path, {
    before,
    after: after && content ? { mode: after.mode, content } : null,
    key,
    onWritten,
  });
  crash('after workspace.path');
  return isMade;
}

async function readContent(hash: string, read: PlanRequest['read']): Promise<Uint8Array> {
  const found = await read(hash);
  const bytes = typeof found === 'string' ? Buffer.from(found) : found;
  if (bytes === null || hashBytes(bytes) !== hash) throw new RetinueError('workspace', 'a stored content is missing or was changed');
  return bytes;
}
