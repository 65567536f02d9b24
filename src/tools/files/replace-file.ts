// Replaces one file of a workspace, for `write` and `edit`.
//
// 1. Protected files, files with hard links and anything but plain files are never changed.
// 2. The replacement is atomic: readers see either the old or the new content.
// 3. It happens only if the file is still the one that was read. For this process the last check and the rename are one step; another process could
//    still change the file in between.
import { createHash, randomBytes } from 'node:crypto';
import { type BigIntStats, constants, lstatSync, renameSync } from 'node:fs';
import { access, lstat, open, unlink } from 'node:fs/promises';
import type { Artifact } from '../../contract/artifact.ts';
import type { ChangedFile, Memo } from '../../ports/tool.ts';
import { createToolRefusal, describeKind, findErrorCode, type Refusal } from '../refusal.ts';
import { entryPath, isAliasOf, type LocatedPath, locatePath, type OpenDirectory, openDirectory, splitParent } from './confine.ts';
import { createDiff } from './diff.ts';
import { hashContent, hashFile, lastSeenVersion, maxHashedBytes } from './file-version.ts';
import { findGitControlledPaths, type GitControlledPaths } from './git-controlled-paths.ts';
import { openedSubjects } from './path-subjects.ts';
import { displayPath, isProtected, isUnder, pathInside, protectedAliases } from './paths.ts';
import { readWhole } from './read-file.ts';

/** Where a file is written: the open directory and the name in it. The caller closes the directory. */
export interface WriteTarget {
  path: string;
  dir: OpenDirectory;
  name: string;
}

/** `content` is null if the file is too large to be held in memory. */
export interface CurrentFile {
  stats: BigIntStats;
  version: string;
  content: Buffer | null;
}

export const staleMessage = 'changed since you read it; read it again';

/**
 * With `create`, missing directories are created. `confirm` judges the real path before anything is created; the path is then opened from the
 * workspace's descriptor without following links, so that it is the path that was judged.
 */
export async function openWriteTarget(
  workspace: string,
  asked: string,
  options: { create: boolean; confirm(subjects: string[]): Promise<void> },
): Promise<{ ok: true; target: WriteTarget } | Refusal> {
  const located = await locateWriteTarget(workspace, asked);
  if (!located.ok) return located;
  const { root, path } = located;
  await options.confirm(openedSubjects(asked, workspace, path));
  const { parent, name } = splitParent(path);
  if (name === null) return createToolRefusal(`${displayPath(path)} is a directory`);
  const opened = await openDirectory(root, parent, options);
  return opened.ok ? { ok: true, target: { path, dir: opened.dir, name } } : opened;
}

/** The real path to write to, or why no rule can allow it. */
export async function locateWriteTarget(workspace: string, asked: string): Promise<LocatedPath> {
  const located = await locatePath(workspace, asked);
  if (!located.ok) return located;
  const { root, path } = located;
  const plain = pathInside([root, workspace], asked) ?? path;
  const controlled = await findGitControlledPaths(root);
  if (controlled.problem !== null) return createToolRefusal(`nothing is written, because ${controlled.problem}`);
  const isClosedToWriting = isProtected(plain) || isProtected(path) || (await isProtectedTarget(root, path, controlled));
  if (!isClosedToWriting) return located;
  return createToolRefusal(
    `${displayPath(plain)} is protected: tools may not change settings, hooks or agent definitions that the user's programs load`,
  );
}

/** Whether a real path is protected because of links or of git's configuration. */
async function isProtectedTarget(root: string, path: string, { repository, configured }: GitControlledPaths): Promise<boolean> {
  if (await isAliasOf(root, path, protectedAliases)) return true;
  return [...repository, ...configured].some((top) => isUnder(path, top));
}

/** The file as it is now, null if there is none, or why it must not be changed. Rejects with system errors. */
export async function readCurrent({ dir, name, path }: WriteTarget): Promise<{ ok: true; current: CurrentFile | null } | Refusal> {
  const at = entryPath(dir, name);
  const stats = await lstat(at).catch((error) => {
    if (findErrorCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (stats === null) return { ok: true, current: null };
  if (!stats.isFile()) return createToolRefusal(`${path} is ${describeKind(stats)}, not a file`);
  // One of its other names may be outside the workspace.
  if (stats.nlink > 1) return createToolRefusal(`${path} has several hard links, so it is not changed`);
  // A rename needs no write permission on the file, so without this check a read-only file would be replaced.
  const writable = await access(at, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!writable) return createToolRefusal(`${path} is read-only`);
  await using file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
  const opened = await file.stat({ bigint: true });
  if (!opened.isFile()) return createToolRefusal(`${path} is ${describeKind(opened)}, not a file`);
  const content = await readWhole(file, maxHashedBytes);
  const version = content === null ? await hashFile(file) : hashContent(content, opened);
  return { ok: true, current: { stats: opened, version, content } };
}

/** Whether the file has changed since the run last saw it. */
export function isStale(memo: Memo, path: string, current: CurrentFile): boolean {
  const known = lastSeenVersion(memo, path);
  return known !== undefined && known !== current.version;
}

/** Replaces `current` with `content`. Returns the new version, or null if the file has changed in the meantime. */
export async function replaceFile(
  { dir, name }: WriteTarget,
  change: { content: Buffer; current: CurrentFile | null; signal: AbortSignal },
): Promise<string | null> {
  const { content, current, signal } = change;
  const temporary = entryPath(dir, `.retinue-${randomBytes(8).toString('hex')}.tmp`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(temporary, flags, 0o666);
  let isReplaced = false;
  try {
    let stats: BigIntStats;
    try {
      await file.writeFile(content, { signal });
      if (current !== null) {
        await file.chmod(Number(current.stats.mode) & 0o777);
        // Only root may change the owner; for other users the new file has the same owner already.
        await file.chown(Number(current.stats.uid), Number(current.stats.gid)).catch(() => {});
      }
      stats = await file.stat({ bigint: true });
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    const at = entryPath(dir, name);
    if (isSameFile(lstatSync(at, { bigint: true, throwIfNoEntry: false }), current?.stats)) {
      renameSync(temporary, at);
      isReplaced = true;
    }
    return isReplaced ? hashContent(content, stats) : null;
  } finally {
    // The temporary file may be gone with its directory.
    if (!isReplaced) await unlink(temporary).catch(() => {});
  }
}

function isSameFile(now: BigIntStats | undefined, then: BigIntStats | undefined): boolean {
  if (now === undefined || then === undefined) return now === then;
  return (
    now.dev === then.dev && now.ino === then.ino && now.size === then.size && now.mtimeNs === then.mtimeNs && now.ctimeNs === then.ctimeNs
  );
}

/** The change as `retinue undo` needs it; none if the content before is too large to be kept. */
export function toChangedFiles(path: string, current: CurrentFile | null, content: Buffer): ChangedFile[] {
  if (current?.content === null) return [];
  const mode = current !== null && (Number(current.stats.mode) & 0o100) !== 0 ? '100755' : '100644';
  const after = { mode, hash: createHash('sha256').update(content).digest('hex'), bytes: content.length } as const;
  return [{ path, before: current && { mode, content: current.content.toString('base64') }, after }];
}

/** The artifacts of a change: the path, and the diff if both sides are text and small enough to compare. */
export async function changeToArtifacts(
  path: string,
  current: CurrentFile | null,
  content: Buffer,
): Promise<{ artifacts: Artifact[]; diff: string | null }> {
  const made: Artifact = { kind: 'path', value: path, title: current === null ? 'created' : 'changed', bytes: content.length };
  const diff = await createDiff(path, current === null ? null : (current.content ?? 'large'), content);
  if (diff === null) return { artifacts: [made], diff: null };
  return { artifacts: [made, { kind: 'diff', value: diff.text, title: path, bytes: diff.bytes }], diff: diff.text };
}
