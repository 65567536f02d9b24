// Makes the checkout of a run: a private git folder, and the files.
//
// C1. A checkout is complete or does not exist: `owner.json` is written last. A folder without it is removed and made again.
// C2. The source is only read.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, realpath, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import type { Repository } from '../contract/repository.ts';
import { needsConversion } from './conversions.ts';
import { copyPlainFolder } from './copy-folder.ts';
import type { Git, GitOptions } from './git.ts';
import { readSmall } from './local-repository.ts';
import { copyIncluded, findPackageFolders, packageFolders } from './mounts.ts';
import { type FolderOwner, writeOwner } from './owner.ts';
import { copyIndex, writeGitFolder } from './private-git.ts';
import { isTooLarge, type Snapshot, type SnapshotRequest, splitNul, takeSnapshot, toPrintable } from './snapshot.ts';
import { type FolderSource, findCommit, findFolderSource } from './source.ts';
import { clearFlags, forgetTimes, listChangedFiles, listIndexedFiles } from './user-index.ts';

export interface CreateOptions {
  git: Git;
  /** The folder with all mirrors and checkouts. */
  root: string;
  runId: string;
  rootId: string;
  signal: AbortSignal;
  /** Bytes of files that one snapshot may read. */
  maxBytes: number;
  /** A commit that was recorded for this run. */
  commit: string | null;
  /** Whether a repository of this machine may be used. */
  isAllowed(path: string): boolean;
  /** Patterns of files that are never copied. */
  exclude: readonly string[];
  /** Texts of the user's configuration of git, and of the user's list of ignored files. */
  userSettings: string;
  userIgnore: string;
}

export function checkoutFolder(root: string, runId: string): string {
  return join(root, 'checkouts', runId);
}

/** Retinue's own files in a workspace. */
const ownPatterns = ['.retinue', '.retinue-files', '.retinue-*.tmp'];

/** A checkout of a commit. Rejects with `workspace`. */
export async function createFromCommit(repository: Repository, options: CreateOptions): Promise<FolderOwner> {
  return build(options, async (folder) => {
    const { git, root, runId, signal } = options;
    const gitDir = join(folder, 'git');
    await writeGitFolder(gitDir);
    const { commit, objects, shallow } = await findCommit(repository, { ...options, folder: join(root, 'repositories'), gitDir, runId });
    await writeGitFolder(gitDir, { head: commit, isSha256: commit.length === 64, objects, shallow, ignore: lines(ownPatterns) });
    const tree = (await git(['rev-parse', '--verify', `${commit}^{tree}`], { gitDir, signal })).out.toString('latin1').trim();
    return { head: commit, base: tree, commit, objects, prefix: '', mounts: [], included: [], notices: [], shallow };
  });
}

/** A copy of a folder as it is now. Rejects with `workspace`. */
export async function createFromFolder(folder: { path: string; isAlone?: boolean }, options: CreateOptions): Promise<FolderOwner> {
  const source = await findFolderSource(folder, join(options.root, 'checkouts'));
  return build(options, async (folder) => {
    const { git, signal, maxBytes } = options;
    const { top, prefix, objects, shallow } = source;
    const gitDir = join(folder, 'git');
    const index = join(gitDir, 'index');
    // The checkouts may be below the folder themselves. Without a repository nothing says what is ignored.
    const own = relative(top, await realpath(options.root));
    const isInside = own !== '' && own !== '..' && !own.startsWith('../');
    const ignore = `${options.userIgnore}\n${source.ignore}\n${lines([...ownPatterns, ...(isInside ? [`/${own}`] : []), ...options.exclude, ...(source.index === null ? packageFolders : [])])}`;
    const isSha256 = source.commit?.length === 64;
    await writeGitFolder(gitDir, { isSha256, objects, shallow, ignore });
    const request = { git, gitDir, index, workTree: top, prefix, objects, maxBytes, signal, leavesOutHardLinks: true };
    const ignored = { git, gitDir, index, top, prefix, files: join(folder, 'files'), signal };
    await mkdir(ignored.files, { mode: 0o700 });
    const isFilled = source.index === null;
    const taken = isFilled ? await copyPlainFolder(request, ignored.files) : await snapshotFolder(source, request, options);
    const mounts = await findPackageFolders(ignored);
    const { included, notices } = await copyIncluded(ignored);
    const commit = await findHead(source.commit, request);
    const head = await commitTree(taken.tree, commit, { git, gitDir, signal });
    const common = { head, base: taken.tree, commit, objects, prefix, mounts, included, shallow };
    return { ...common, notices: [...taken.notices, ...notices], isFilled };
  });
}

/** With the index of the user only changed files are read, unless it does not say what the bytes of the files are. */
async function snapshotFolder(source: FolderSource, request: SnapshotRequest, { userSettings }: CreateOptions): Promise<Snapshot> {
  const { index, signal, workTree: top } = request;
  // A repository in which nothing was added yet.
  if (source.index === null || !(await copyIndex(source.index, index))) return takeSnapshot(request);
  try {
    const files = await listIndexedFiles(request);
    const skipped = await clearFlags(files, request);
    const configuration = `${source.configuration}\n${userSettings}`;
    if (!(await needsConversion([...files.tracked, ...files.untracked], { configuration, top }))) return await takeSnapshot(request);
    const changed = new Set(await listChangedFiles(request));
    const unchanged = new Set([...files.tracked].filter((path) => !changed.has(path)));
    await forgetTimes(skipped, request);
    return await takeSnapshot({ ...request, unchanged });
  } catch (error) {
    signal.throwIfAborted();
    if (isTooLarge(error)) throw error;
  }
  // An index of an unusual kind, such as a split one. The commit says which files are tracked.
  await rm(index, { force: true });
  const commit = await findHead(source.commit, request);
  if (commit !== null) await request.git(['read-tree', commit], { gitDir: request.gitDir, index, signal });
  return takeSnapshot(request);
}

/** `isFilled`: the files are there, and the index knows them. */
type Prepared = Omit<FolderOwner, 'v' | 'runId' | 'rootId'> & { shallow: string | null; isFilled?: boolean };

async function build(options: CreateOptions, fill: (folder: string) => Promise<Prepared>): Promise<FolderOwner> {
  const { git, root, runId, rootId, signal } = options;
  const final = checkoutFolder(root, runId);
  const folder = `${final}.${randomBytes(4).toString('hex')}.new`;
  try {
    await mkdir(join(root, 'checkouts'), { recursive: true, mode: 0o700 });
    await removeDrafts(root, runId);
    await mkdir(folder, { mode: 0o700 });
    const { shallow, isFilled = false, ...prepared } = await fill(folder);
    const files = join(folder, 'files');
    await mkdir(files, { recursive: true, mode: 0o700 });
    const gitDir = join(folder, 'git');
    const where = { gitDir, workTree: files, index: join(gitDir, 'index'), signal };
    if (!isFilled) {
      await git(['read-tree', prepared.base], where);
      // -u: records the times of the new files, by which later snapshots find what has changed.
      await git(['checkout-index', '-a', '-u', '-q'], where);
    }
    for (const { path } of prepared.mounts) await mkdir(join(files, prepared.prefix, path), { recursive: true });
    await writeRunRepository(files, { ...prepared, shallow, gitDir: join(final, 'git') }, where.index);
    // Paths in it are those of the final place.
    const notices = [...prepared.notices, ...(await describeSubmodules(files, git, where))];
    const owner: FolderOwner = { v: 1, runId, rootId, ...prepared, notices };
    await writeOwner(folder, owner);
    await rm(final, { recursive: true, force: true });
    await rename(folder, final);
    return owner;
  } catch (error) {
    await rm(folder, { recursive: true, force: true }).catch(() => {});
    throw error instanceof RetinueError
      ? error
      : new RetinueError('workspace', `the files could not be prepared: ${(error as Error).message}`, { cause: error });
  }
}

/** Submodules are empty in a checkout. */
async function describeSubmodules(files: string, git: Git, where: GitOptions): Promise<string[]> {
  if ((await readSmall(join(files, '.gitmodules'))) === null) return [];
  const entries = splitNul((await git(['ls-files', '-s', '-z'], where)).out).filter((entry) => entry.startsWith('160000 '));
  const names = entries.map((entry) => toPrintable(entry.slice(entry.indexOf('\t') + 1)));
  return names.length === 0 ? [] : [`submodules are empty folders in the copy: ${names.join(', ')}`];
}

/** Drafts of an earlier process of this run, which was killed: only one process drives a run. */
async function removeDrafts(root: string, runId: string): Promise<void> {
  const names = await readdir(join(root, 'checkouts'));
  const drafts = names.filter((name) => name.startsWith(`${runId}.`) && name.endsWith('.new'));
  for (const name of drafts) await rm(join(root, 'checkouts', name), { recursive: true, force: true });
}

/** The repository that commands of the run see. Nothing of it is ever used again. */
async function writeRunRepository(
  files: string,
  { head, objects, shallow, gitDir }: Prepared & { gitDir: string },
  index: string,
): Promise<void> {
  if (head === null) return;
  const own = join(files, '.git');
  const borrowed = [join(gitDir, 'objects'), ...objects];
  await writeGitFolder(own, { head, isSha256: head.length === 64, objects: borrowed, shallow });
  await rm(join(own, 'info/attributes'));
  await copyIndex(index, join(own, 'index'));
}

/** The commit of the source, if its object exists. */
async function findHead(commit: string | null, { git, gitDir, signal }: SnapshotRequest): Promise<string | null> {
  if (commit === null) return null;
  const found = await git(['cat-file', '-e', `${commit}^{commit}`], { gitDir, signal, accept: [1, 128] });
  return found.code === 0 ? commit : null;
}

async function commitTree(tree: string, parent: string | null, { git, gitDir, signal }: { git: Git; gitDir: string; signal: AbortSignal }) {
  const settings = ['user.name=Retinue', 'user.email=retinue@localhost', 'commit.gpgSign=false'];
  const args = ['commit-tree', tree, ...(parent === null ? [] : ['-p', parent]), '-m', 'Files as the run found them'];
  return (await git(args, { gitDir, signal, settings })).out.toString('latin1').trim();
}

function lines(patterns: readonly string[]): string {
  return patterns.map((pattern) => `${pattern}\n`).join('');
}
