// One bare mirror for each remote repository, under the workspace root. Checkouts borrow its objects. Only the fetch here uses the network and
// the user's credentials; the address is an argument, and is stored nowhere.
import { createHash, randomBytes } from 'node:crypto';
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import type { Repository } from '../contract/repository.ts';
import type { Git } from './git.ts';
import { writeGitFolder } from './private-git.ts';

const fetchTimeoutMs = 1_200_000;
const hashPattern = /^([\da-f]{40}|[\da-f]{64})$/;

export interface FoundCommit {
  commit: string;
  /** Folders with its objects. */
  objects: string[];
  shallow: string | null;
}

export interface MirrorRequest {
  git: Git;
  /** The folder of all mirrors. */
  folder: string;
  runId: string;
  /** A commit that was recorded for this run. */
  commit: string | null;
  signal: AbortSignal;
}

/** Fetches what is missing. Rejects with `workspace`. */
export async function findRemoteCommit(repository: Repository & { url: string }, request: MirrorRequest): Promise<FoundCommit> {
  const { git, folder, signal, runId } = request;
  const { url, ref } = repository;
  const name = createHash('sha256').update(url).digest('hex').slice(0, 32);
  const gitDir = join(folder, `${name}.git`);
  await ensureMirror(gitDir);
  const fixed = request.commit ?? (ref !== undefined && hashPattern.test(ref) ? ref : null);
  const fetch = (refspecs: string[]) =>
    git(
      [
        'fetch',
        '--quiet',
        '--force',
        '--no-tags',
        '--no-recurse-submodules',
        '--no-write-fetch-head',
        '--end-of-options',
        url,
        ...refspecs,
      ],
      {
        ...{ gitDir, signal, timeoutMs: fetchTimeoutMs },
        network: { lock: join(folder, `${name}.lock`) },
      },
    );
  const peel = async (given: string) => {
    const found = await git(['rev-parse', '--quiet', '--verify', '--end-of-options', `${given}^{commit}`], {
      ...{ gitDir, signal },
      accept: [1, 128],
    });
    return found.code === 0 ? found.out.toString('latin1').trim() : null;
  };
  let commit = fixed === null ? null : await peel(fixed);
  if (commit === null) {
    await explain(repository, () => fetch(['+HEAD:refs/retinue/HEAD', '+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']));
    const names = ref === undefined ? ['refs/retinue/HEAD'] : ref.startsWith('refs/') ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`];
    for (const each of fixed === null ? names : [fixed]) commit ??= await peel(each);
    // A server may give a commit that no branch has.
    if (commit === null && fixed !== null) {
      await explain(repository, () => fetch([`${fixed}:refs/retinue/commits/${fixed}`]));
      commit = await peel(fixed);
    }
  }
  if (commit === null) throw new RetinueError('workspace', `${url} has no branch, tag or commit named ${ref ?? fixed ?? 'HEAD'}`);
  // Keeps the commit if the mirror is cleaned.
  await git(['update-ref', `refs/retinue/runs/${runId}`, commit], { gitDir, signal });
  return { commit, objects: [join(gitDir, 'objects')], shallow: null };
}

/** Another process may do the same: the folder is complete as soon as it has its name. */
async function ensureMirror(gitDir: string): Promise<void> {
  if (await stat(join(gitDir, 'HEAD')).catch(() => null)) return;
  const draft = `${gitDir}.${randomBytes(4).toString('hex')}.new`;
  await writeGitFolder(draft, { isBare: true });
  await rename(draft, gitDir).catch(() => rm(draft, { recursive: true, force: true }));
}

async function explain(repository: Repository, fetch: () => Promise<unknown>): Promise<void> {
  try {
    await fetch();
  } catch (error) {
    const advice = 'check the address, and that git on this machine can fetch it without a question (credential helper or SSH agent)';
    throw new RetinueError('workspace', `${repository.url} could not be fetched: ${(error as Error).message}; ${advice}`, {
      ...{ cause: error, retryable: true },
    });
  }
}
