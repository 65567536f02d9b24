// The file that says whose checkout a folder is. It is written last, so a folder without it was not finished and has no work of a run in it.
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { RunId } from '../contract/ids.ts';
import { readSmall } from './local-repository.ts';
import { WorkspaceMountSchema } from './mounts.ts';

const FolderOwner = z.strictObject({
  v: z.literal(1),
  runId: RunId,
  rootId: RunId,
  /** The commit that the run's own repository began with, and the tree of its files; `prefix`: the part of it that is the workspace. */
  head: z.string().nullable(),
  base: z.string(),
  prefix: z.string(),
  objects: z.array(z.string()),
  mounts: z.array(WorkspaceMountSchema),
  /** Ignored files that were copied. */
  included: z.array(z.string()),
  notices: z.array(z.string()),
  commit: z.string().nullable(),
});
export type FolderOwner = z.infer<typeof FolderOwner>;

/** Null if the folder is not a finished checkout. */
export async function readOwner(folder: string): Promise<FolderOwner | null> {
  const text = await readSmall(join(folder, 'owner.json'));
  try {
    return text === null ? null : FolderOwner.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

export async function writeOwner(folder: string, owner: FolderOwner): Promise<void> {
  const draft = join(folder, 'owner.json.new');
  await writeFile(draft, `${JSON.stringify(owner)}\n`, { mode: 0o600, flush: true });
  await rename(draft, join(folder, 'owner.json'));
}
