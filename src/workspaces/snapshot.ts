// The files of a folder as a git tree, byte for byte: with uncommitted and untracked files, without ignored ones.
//
// S1. Nothing is written outside the private git folder, and nothing of the folder is executed.
// S2. Repositories inside the folder are plain files, without their `.git`. What a submodule contains is not part of a snapshot.
import type { Stats } from 'node:fs';
import { access, constants, lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import { mayHaveHardLinks } from '../text/package-files.ts';
import type { Git } from './git.ts';

export interface SnapshotRequest {
  git: Git;
  gitDir: string;
  /** An index of the folder; missing entries are added. It is changed. */
  index: string;
  workTree: string;
  /** Only this part of the folder; '' or a path that ends with `/`. */
  prefix: string;
  objects: readonly string[];
  /** Bytes of changed and new files that may be read. */
  maxBytes: number;
  signal: AbortSignal;
  /** Leaves out changed and new files with several hard links: their other names may be outside the folder. */
  leavesOutHardLinks?: boolean;
  /** Files that are not counted, although git stores them in another form. */
  unchanged?: ReadonlySet<string>;
}

export interface Snapshot {
  /** The tree of the whole folder. */
  tree: string;
  notices: string[];
}

/** Rejects with `workspace` if there is too much to read. */
export async function takeSnapshot(request: SnapshotRequest): Promise<Snapshot> {
  const { git, gitDir, index, workTree, objects, signal } = request;
  const options = { gitDir, index, workTree, objects, signal };
  const { kept, replaced, notices } = await listChanges(request);
  if (replaced.length > 0) await git(['update-index', '-z', '--force-remove', '--stdin'], { ...options, input: joinNul(replaced) });
  if (kept.length > 0) await git(['update-index', '-z', '--add', '--remove', '--replace', '--stdin'], { ...options, input: joinNul(kept) });
  const tree = (await git(['write-tree'], options)).out.toString('latin1').trim();
  return { tree, notices };
}

/** Changed and new files. `replaced`: files that are folders now. Rejects with `workspace` if there is too much to read. */
export async function listChanges(request: SnapshotRequest): Promise<{ kept: string[]; replaced: string[]; notices: string[] }> {
  const { git, gitDir, index, workTree, objects, signal, prefix } = request;
  const scope = prefix === '' ? [] : ['--', prefix];
  const options = { gitDir, index, workTree, objects, signal };
  const listed = await git(['ls-files', '-z', '-m', '-o', '--exclude-standard', ...scope], options);
  return selectFiles(await expandFolders([...new Set(splitNul(listed.out))], request), request);
}

/** Paths are bytes; as text in this encoding they stay as they are. */
export function splitNul(bytes: Buffer): string[] {
  return bytes
    .toString('latin1')
    .split('\0')
    .filter((path) => path !== '');
}

export function joinNul(paths: readonly string[]): Buffer {
  return Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1');
}

/** The path for the file system, from the text of `splitNul`. */
export function toBytes(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, 'latin1')]);
}

const maxNesting = 8;

/** Git lists a repository inside the folder as `name/`. Its files are listed by themselves, by the rules of the `.gitignore` files in it. */
async function expandFolders(paths: string[], request: SnapshotRequest, depth = 0): Promise<string[]> {
  const { git, gitDir, workTree, signal } = request;
  const found: string[] = [];
  for (const path of paths) {
    if (!path.endsWith('/')) found.push(path);
    else if (depth < maxNesting) {
      const inside = Buffer.from(path, 'latin1').toString('utf8');
      const options = { gitDir, workTree: join(workTree, inside), index: join(gitDir, 'no-index'), signal };
      const listed = splitNul((await git(['ls-files', '-z', '-o', '--exclude-standard'], options)).out);
      found.push(...(await expandFolders(listed, { ...request, workTree: options.workTree }, depth + 1)).map((name) => `${path}${name}`));
    }
  }
  return found;
}

async function selectFiles(paths: string[], { workTree, maxBytes, leavesOutHardLinks, unchanged }: SnapshotRequest) {
  const kept: string[] = [];
  const replaced: string[] = [];
  const notices: string[] = [];
  const linked: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const file = toBytes(workTree, path);
    const found = await lstat(file).catch(() => null);
    if (found?.isDirectory()) {
      // A submodule stays as it was recorded.
      if (await isReplaced(file)) replaced.push(path);
      continue;
    }
    if (found?.isFile()) {
      const isReadable = await access(file, constants.R_OK).then(
        () => true,
        () => false,
      );
      if (!isReadable) {
        notices.push(`${toPrintable(path)} cannot be read and was left out`);
        continue;
      }
      if (leavesOutHardLinks && !unchanged?.has(path) && hasOtherNames(found, path)) {
        linked.push(toPrintable(path));
        continue;
      }
      if (!unchanged?.has(path)) bytes += found.size;
    }
    if (bytes > maxBytes) throw tooLarge(workTree, maxBytes);
    kept.push(path);
  }
  return { kept, replaced, notices: [...notices, ...describeHardLinks(linked)] };
}

/** Whether a file may be outside the folder as well. */
export function hasOtherNames({ nlink }: Pick<Stats, 'nlink'>, path: string): boolean {
  return nlink > 1 && !mayHaveHardLinks(path);
}

const maxNamed = 5;

/** One notice about files that were left out, if there are any. */
export function describeHardLinks(paths: string[]): string[] {
  if (paths.length === 0) return [];
  const more = paths.length > maxNamed ? ` and ${paths.length - maxNamed} more` : '';
  return [`left out, because they have several hard links: ${paths.toSorted().slice(0, maxNamed).join(', ')}${more}`];
}

/** A folder where a file was: its own files are listed too, and the old entry has to go. */
async function isReplaced(folder: Buffer): Promise<boolean> {
  return !(await lstat(Buffer.concat([folder, Buffer.from('/.git')])).catch(() => null));
}

function tooLarge(folder: string, maxBytes: number): RetinueError {
  const limit = `${Math.round(maxBytes / 1024 ** 2)} MiB`;
  return new RetinueError(
    'workspace',
    `${folder} has more than ${limit} ${largeMessage}; add the large ones to .gitignore, then try again`,
  );
}

const largeMessage = 'of changed and untracked files';

/** Whether a snapshot failed because there was too much to read. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof RetinueError && error.message.includes(largeMessage);
}

export function toPrintable(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}
