// Folders that processes left behind: checkouts whose run has ended, and drafts of a checkout or a merge that was cut off.
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { RunId } from '../contract/ids.ts';
import type { Leftover } from '../ports/run-folders.ts';
import { removeTree } from '../system/remove-tree.ts';

/** A draft that is younger may still be in the making. */
const draftAgeMs = 3_600_000;

/** Never rejects. */
export async function listLeftovers(root: string): Promise<Leftover[]> {
  const names = async (folder: string) => readdir(folder).catch(() => []);
  const checkouts = (await names(join(root, 'checkouts'))).map((name) => join('checkouts', name));
  const found = [...checkouts, ...(await names(root)).filter((name) => name.startsWith('merge-'))];
  const leftovers: Leftover[] = [];
  for (const name of found) {
    const path = join(root, name);
    const runId = RunId.safeParse(name.replace(/^checkouts\//, '')).data ?? null;
    const stats = await lstat(path).catch(() => null);
    if (stats?.isDirectory() && (runId !== null || stats.mtimeMs < Date.now() - draftAgeMs)) leftovers.push({ path, runId });
  }
  return leftovers;
}

/** Only what is directly in the folder of Retinue. Never rejects. */
export async function removeLeftover(root: string, path: string): Promise<void> {
  const known = (await listLeftovers(root)).some((each) => each.path === path);
  if (known) await removeTree(path).catch(() => {});
}
