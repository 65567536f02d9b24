// Where the files of a checkout come from: a commit of a repository, or a folder as it is now.
import { realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import type { Repository } from '../contract/repository.ts';
import { findLocalRepository, type LocalRepository, readSmall, resolveRef } from './local-repository.ts';
import { type FoundCommit, findRemoteCommit, type MirrorRequest } from './mirror.ts';
import { readOwner } from './owner.ts';

export interface CommitRequest extends MirrorRequest {
  /** Whether a repository in this folder of this machine may be used. */
  isAllowed(path: string): boolean;
  /** A private git folder for looking at objects. */
  gitDir: string;
}

/** Rejects with `workspace` if the repository or the commit does not exist, or may not be used. */
export async function findCommit(repository: Repository, request: CommitRequest): Promise<FoundCommit> {
  const { url, path, ref } = repository;
  if (url !== undefined && !url.startsWith('file://')) return findRemoteCommit({ ...repository, url }, request);
  const { folder, local } = await openLocal(path ?? (url ?? '').slice('file://'.length), request);
  const { git, gitDir, signal } = request;
  const named = request.commit ?? (await resolveRef(local, ref));
  const options = { gitDir, objects: [local.objects], signal, accept: [1, 128] };
  const found = named === null ? null : await git(['rev-parse', '--quiet', '--verify', '--end-of-options', `${named}^{commit}`], options);
  if (found?.code !== 0) throw new RetinueError('workspace', `${folder} has no branch, tag or commit named ${ref ?? named ?? 'HEAD'}`);
  const shallow = await readSmall(join(local.commonDir, 'shallow'));
  return { commit: found.out.toString('latin1').trim(), objects: [local.objects], shallow };
}

/** Rejects like `findCommit` if this machine has no such repository, or cannot reach it. */
export async function assertReachable({ url, path, ...rest }: Repository, request: Omit<CommitRequest, 'gitDir'>): Promise<void> {
  if (url !== undefined && !url.startsWith('file://')) await findRemoteCommit({ ...rest, url }, request);
  else await openLocal(path ?? (url ?? '').slice('file://'.length), request);
}

async function openLocal(
  path: string,
  { isAllowed }: Pick<CommitRequest, 'isAllowed'>,
): Promise<{ folder: string; local: LocalRepository }> {
  const folder = await realpath(path).catch(() => null);
  if (folder === null) throw new RetinueError('workspace', `the repository ${path} does not exist on this machine`, { retryable: true });
  const local = await findLocalRepository(folder);
  const isHere = local?.top === folder || local?.gitDir === folder;
  if (!local || !isHere) throw new RetinueError('workspace', `${path} is not a git repository; name the folder that has its \`.git\``);
  for (const each of [folder, local.objects])
    if (!isAllowed(each))
      throw new RetinueError('workspace', `this worker may not use ${each}; start it with \`--shared ${folder}\` to allow that`, {
        retryable: true,
      });
  return { folder, local };
}

/** A folder whose files are to be copied. */
export interface FolderSource {
  /** The folder that a snapshot is taken of: the working tree of its repository, or the folder itself. */
  top: string;
  /** The part of it that is the workspace; '' or a path that ends with `/`. */
  prefix: string;
  /** The index that git has for it; null if there is none. */
  index: string | null;
  objects: string[];
  /** What HEAD names; the object may be missing. */
  commit: string | null;
  shallow: string | null;
  /** Patterns of ignored files that are not in the files themselves. */
  ignore: string;
  /** Texts of configuration that may convert files. */
  configuration: string;
}

/**
 * Rejects with `workspace` for a bare or broken repository. `isAlone`: a folder inside a repository is copied without the rest of it. `checkouts`: the
 * folder with the checkouts of Retinue.
 */
export async function findFolderSource(
  { path, isAlone = false }: { path: string; isAlone?: boolean },
  checkouts: string,
): Promise<FolderSource> {
  const folder = await realpath(path).catch(() => null);
  if (folder === null) throw new RetinueError('workspace', `the folder ${path} does not exist`);
  const own = isAlone ? null : await findOwnCheckout(folder, checkouts);
  if (own) return own;
  const repository = await findLocalRepository(folder);
  if (repository === null || (isAlone && repository.top !== folder))
    return { top: folder, prefix: '', index: null, objects: [], commit: null, shallow: null, ignore: '', configuration: '' };
  const { top, gitDir, commonDir, objects } = repository;
  const inside = top === null ? '..' : relative(top, folder);
  if (top === null || inside.startsWith('..')) throw new RetinueError('workspace', `${folder} is in a bare repository, which has no files`);
  const text = async (name: string) => (await readSmall(join(commonDir, name))) ?? '';
  return {
    top,
    prefix: inside === '' ? '' : `${inside.split(sep).join('/')}/`,
    index: join(gitDir, 'index'),
    objects: [objects],
    commit: await resolveRef(repository, undefined),
    shallow: await readSmall(join(commonDir, 'shallow')),
    ignore: await text('info/exclude'),
    configuration: `${await text('config')}\n${await text('info/attributes')}`,
  };
}

/** A checkout of Retinue's own: its `.git` belongs to the run, so only its private git folder is used. */
async function findOwnCheckout(folder: string, checkouts: string): Promise<FolderSource | null> {
  const root = await realpath(checkouts).catch(() => null);
  const [runId, files, ...rest] = root === null ? [] : relative(root, folder).split(sep);
  const owner = root !== null && runId !== undefined && files === 'files' ? await readOwner(join(root, runId)) : null;
  if (root === null || runId === undefined || owner === null) return null;
  const gitDir = join(root, runId, 'git');
  return {
    top: join(root, runId, 'files'),
    prefix: rest.length === 0 ? '' : `${rest.join('/')}/`,
    index: join(gitDir, 'index'),
    objects: [join(gitDir, 'objects'), ...owner.objects],
    commit: owner.head,
    shallow: await readSmall(join(gitDir, 'shallow')),
    ignore: (await readSmall(join(gitDir, 'info/exclude'))) ?? '',
    configuration: '',
  };
}
