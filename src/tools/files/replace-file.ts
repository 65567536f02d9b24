import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants, lstatSync, renameSync } from 'node:fs';
import { access, lstat, open, unlink } from 'node:fs/promises';
import type { Artifact } from '../../contract/artifact.ts';
import { codeOf, kindOf, type Refusal, refuse } from '../refusal.ts';
import { type Dir, entry, isAliasOf, locate, openDir, split } from './confine.ts';
import { diffOf } from './diff.ts';
import { comparedBytes, contentOf, seen, versionOf, versionOfContent } from './file-version.ts';
import { gitPlaces } from './git-controlled-paths.ts';
import { inside, isProtected, isUnder, protectedAliases, shown } from './paths.ts';

/**
 * Changing one file of a workspace, for `write` and `edit`.
 *
 * 1. Nothing is changed that a user's programs obey, that has names elsewhere, or that is no plain file.
 * 2. The new text takes the old one's place at once: readers see one or the other.
 * 3. It does so only if the file is still the one that was looked at. The last look and the change are one step for everything
 *    in this process; another process has some microseconds to slip in between.
 */

/** A place for a file: the open directory and the name in it. Whoever gets one closes the directory. */
export interface Target {
  path: string;
  dir: Dir;
  name: string;
}

/** A file as it is now. `content` is null where it is too large to be held. */
export interface Current {
  stats: BigIntStats;
  version: string;
  content: Buffer | null;
}

export const stale = 'changed since you read it; read it again';

/** `create`: directories that are missing on the way are made. */
export async function openTarget(
  workspace: string,
  asked: string,
  options: { create: boolean },
): Promise<{ ok: true; target: Target } | Refusal> {
  const located = await locate(workspace, asked);
  if (!located.ok) return located;
  const { root, path } = located;
  const plain = inside([root, workspace], asked) ?? path;
  const obeyed = async () => {
    if (await isAliasOf(root, path, protectedAliases)) return true;
    const { repository, named } = await gitPlaces(root);
    return [...repository, ...named].some((place) => isUnder(path, place));
  };
  if (isProtected(plain) || isProtected(path) || (await obeyed())) {
    return refuse(`${shown(plain)} is protected: settings, hooks and agents that the user's programs obey are not written by tools`);
  }
  const { parent, name } = split(path);
  if (name === null) return refuse(`${shown(path)} is a directory`);
  const opened = await openDir(root, parent, options);
  return opened.ok ? { ok: true, target: { path, dir: opened.dir, name } } : opened;
}

/** What is there now, null for nothing, or why it must not be changed. Rejects with what the system says. */
export async function lookAt({ dir, name, path }: Target): Promise<{ ok: true; current: Current | null } | Refusal> {
  const at = entry(dir, name);
  const stats = await lstat(at).catch((error) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  if (stats === null) return { ok: true, current: null };
  if (!stats.isFile()) return refuse(`${path} is ${kindOf(stats)}, not a file`);
  // Under more than one name it may also lie outside the workspace.
  if (stats.nlink > 1) return refuse(`${path} has more than one name (hard links) and is not written`);
  // Replacing needs no right to the file itself, so a read-only one would otherwise be lost.
  const writable = await access(at, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!writable) return refuse(`${path} is read-only`);
  await using file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
  const opened = await file.stat({ bigint: true });
  if (!opened.isFile()) return refuse(`${path} is ${kindOf(opened)}, not a file`);
  const content = await contentOf(file, comparedBytes);
  const version = content === null ? await versionOf(file) : versionOfContent(content, opened);
  return { ok: true, current: { stats: opened, version, content } };
}

/** Whether the run has seen another version of the file than the one that is there. */
export function isStale(memo: Map<string, string>, path: string, current: Current): boolean {
  const known = seen(memo, path);
  return known !== undefined && known !== current.version;
}

/** Puts `content` in the place of `current`. Gives the version it is then, or null when something else is there by now. */
export async function replace(
  { dir, name }: Target,
  change: { content: Buffer; current: Current | null; signal: AbortSignal },
): Promise<string | null> {
  const { content, current, signal } = change;
  const temporary = entry(dir, `.retinue-${randomBytes(8).toString('hex')}.tmp`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(temporary, flags, 0o666);
  let placed = false;
  try {
    let stats: BigIntStats;
    try {
      await file.writeFile(content, { signal });
      if (current !== null) {
        await file.chmod(Number(current.stats.mode) & 0o777);
        // Only root can give files away, and only for root would the owner change.
        await file.chown(Number(current.stats.uid), Number(current.stats.gid)).catch(() => {});
      }
      stats = await file.stat({ bigint: true });
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    const at = entry(dir, name);
    if (isSame(lstatSync(at, { bigint: true, throwIfNoEntry: false }), current?.stats)) {
      renameSync(temporary, at);
      placed = true;
    }
    return placed ? versionOfContent(content, stats) : null;
  } finally {
    if (!placed) await unlink(temporary).catch(() => {});
  }
}

function isSame(now: BigIntStats | undefined, then: BigIntStats | undefined): boolean {
  if (now === undefined || then === undefined) return now === then;
  return (
    now.dev === then.dev && now.ino === then.ino && now.size === then.size && now.mtimeNs === then.mtimeNs && now.ctimeNs === then.ctimeNs
  );
}

/** What the runtime records of a change: the path, and the diff where both sides are text of a size to compare. */
export async function artifactsOf(
  path: string,
  current: Current | null,
  content: Buffer,
): Promise<{ artifacts: Artifact[]; diff: string | null }> {
  const made: Artifact = { kind: 'path', value: path, title: current === null ? 'created' : 'changed', bytes: content.length };
  const diff = await diffOf(path, current === null ? null : (current.content ?? 'large'), content);
  if (diff === null) return { artifacts: [made], diff: null };
  return { artifacts: [made, { kind: 'diff', value: diff.text, title: path, bytes: diff.bytes }], diff: diff.text };
}
