// Copies a folder that is no repository. Where the file system can, the copies share their blocks with the files of the user until one of them changes.
import { constants } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readlink, symlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { forEachAtOnce } from './at-once.ts';
import { joinNul, listChanges, type Snapshot, type SnapshotRequest, toBytes } from './snapshot.ts';

/** Copies the files that a snapshot would have to the folder `files`. The snapshot is of the copies, so files may change meanwhile. The index knows their times. */
export async function copyPlainFolder(request: SnapshotRequest, files: string): Promise<Snapshot> {
  const { git, gitDir, index, workTree, signal } = request;
  const { kept, notices } = await listChanges(request);
  for (const folder of new Set(kept.map((path) => posix.dirname(path)))) await mkdir(toBytes(files, folder), { recursive: true });
  const copied = new Set<string>();
  await forEachAtOnce(kept, async (path) => {
    signal.throwIfAborted();
    if (await copyEntry(toBytes(workTree, path), toBytes(files, path))) copied.add(path);
  });
  const options = { gitDir, index, workTree: files, signal };
  const input = joinNul(kept.filter((path) => copied.has(path)));
  if (copied.size > 0) await git(['update-index', '-z', '--add', '--stdin'], { ...options, input });
  return { tree: (await git(['write-tree'], options)).out.toString('latin1').trim(), notices };
}

/** False if there is no file any more. */
async function copyEntry(from: Buffer, to: Buffer): Promise<boolean> {
  const found = await lstat(from).catch(() => null);
  if (found?.isSymbolicLink()) await symlink(await readlink(from, 'buffer'), to);
  else if (!found?.isFile()) return false;
  else {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    // As git does: only whether a file is executable counts.
    const mode = (found.mode & 0o100) === 0 ? 0o644 : 0o755;
    if ((found.mode & 0o7777) !== mode) await chmod(to, mode);
  }
  return true;
}
