// Gives runs files of their own and keeps what they change: the adapter behind `ports/checkouts.ts`. README.md explains the folder.
import { mkdir, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, sep } from 'node:path';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';
import type { Repository } from '../contract/repository.ts';
import type { CheckoutRequest, Checkouts, PreparedWorkspace, SavedWorkspace } from '../ports/checkouts.ts';
import type { Crash } from '../ports/crash.ts';
import { removeTree } from '../system/remove-tree.ts';
import { createChangeFiles } from './change-files.ts';
import { type CreateOptions, checkoutFolder, createFromCommit, createFromFolder } from './create.ts';
import { createGit, type Env } from './git.ts';
import { listLeftovers, removeLeftover } from './leftovers.ts';
import { readSmall } from './local-repository.ts';
import { type FolderOwner, readOwner } from './owner.ts';
import { findFileState, hashBytes, readPath, replacePath } from './path-files.ts';
import { collectChanges } from './save.ts';
import { assertReachable } from './source.ts';

export interface CheckoutsOptions {
  env: Env;
  /** The folder for mirrors and checkouts. It is created, for this user alone. */
  root: string;
  /** For a worker: every root gets its files from here. */
  placesRoots?: boolean;
  /** Folders of this machine that briefs may name, with everything in them. `all`: the briefs are the user's own. */
  shared: readonly string[] | 'all';
  /** Patterns of files that are never copied, such as a database in the workspace. */
  exclude?: readonly string[];
  /** Bytes of changed and untracked files that a copy may have, and of changes that are stored. */
  maxBytes?: number;
  crash?: Crash | undefined;
}

const defaultMaxBytes = 256 * 1024 ** 2;
const saveTimeoutMs = 300_000;

export function createCheckouts(options: CheckoutsOptions): Checkouts {
  const { env, root, placesRoots = false, maxBytes = defaultMaxBytes, exclude = [] } = options;
  const { crash = () => {} } = options;
  const git = createGit(env, crash);

  async function createOptions(request: Parameters<Checkouts['findProblem']>[0]): Promise<CreateOptions> {
    const { runId, rootId, signal, previous } = request;
    const shared =
      options.shared === 'all' ? 'all' : await Promise.all(options.shared.map((folder) => realpath(folder).catch(() => folder)));
    const isAllowed = (path: string) => shared === 'all' || shared.some((folder) => isUnder(path, folder));
    const { userSettings, userIgnore } = await readUserFiles(env);
    return { git, root, runId, rootId, signal, maxBytes, commit: previous?.commit ?? null, isAllowed, exclude, userSettings, userIgnore };
  }

  async function prepare(request: CheckoutRequest): Promise<PreparedWorkspace> {
    const { source, runId, previous } = request;
    if (source.kind === 'directory') return prepareDirectory(source.path, await createOptions(request));
    if (source.kind === 'none') return prepareEmpty(runId);
    const known = await readOwner(checkoutFolder(root, runId));
    if (known && known.runId === runId && previous !== null && previous.base === known.base)
      return toPrepared(known, toRepository(source), true);
    const create = await createOptions(request);
    if (source.kind === 'folder') await assertAllowed(source.path, create, root);
    const owner = source.kind === 'commit' ? await createFromCommit(source.repository, create) : await createFromFolder(source, create);
    const prepared = toPrepared(owner, toRepository(source), false);
    await copyAttached(prepared.data.path, request.attached);
    if (request.saved) await writeSaved(prepared.data.path, request.saved);
    return prepared;
  }

  async function findProblem(request: Parameters<Checkouts['findProblem']>[0]): Promise<string | null> {
    const { source, runId, previous, signal } = request;
    if (source.kind === 'none') return null;
    try {
      const create = await createOptions(request);
      const known = source.kind === 'directory' ? null : await readOwner(checkoutFolder(root, runId));
      if (known && known.runId === runId && previous !== null && previous.base === known.base) return null;
      if (source.kind === 'commit') await assertReachable(source.repository, { ...create, folder: join(root, 'repositories') });
      else await assertAllowed(source.path, create, source.kind === 'directory' ? '/nonexistent' : root);
      if (source.kind !== 'directory') await git(['--version'], { gitDir: root, signal });
      return null;
    } catch (error) {
      return isRetinueError(error) && error.retryable && !signal.aborted ? error.message : null;
    }
  }

  async function prepareEmpty(runId: string): Promise<PreparedWorkspace> {
    const path = join(root, 'empty', runId);
    await mkdir(path, { recursive: true, mode: 0o700 });
    return { data: { base: null, commit: null, kind: 'empty', notices: [], path }, objects: [], mounts: [], isKept: true };
  }

  function toPrepared(owner: FolderOwner, source: { repository?: Repository | undefined }, isKept: boolean): PreparedWorkspace {
    const folder = checkoutFolder(root, owner.runId);
    const data: FactData['workspace.prepared'] = {
      base: owner.base,
      commit: owner.commit,
      kind: source.repository ? 'checkout' : 'copy',
      notices: owner.notices,
      path: join(folder, 'files', owner.prefix),
      ...(source.repository && { repository: source.repository }),
    };
    return { data, objects: [join(folder, 'git', 'objects'), ...owner.objects], mounts: owner.mounts, isKept };
  }

  async function save(runId: string): Promise<SavedWorkspace> {
    const folder = checkoutFolder(root, runId);
    const owner = await readOwner(folder);
    const nothing = { lines: [], patchBytes: 0, blobs: [] };
    if (owner === null) return { ...nothing, data: { changes: null, files: 0, notices: ['the files of the run are gone'], patch: null } };
    try {
      return await collectChanges(owner, { git, folder, maxBytes, signal: AbortSignal.timeout(saveTimeoutMs) });
    } catch (error) {
      const left = join(folder, 'files');
      const notice = `the changes could not be stored and were left in ${left}: ${(error as Error).message}`;
      return { ...nothing, data: { changes: null, files: 0, left, notices: [notice], patch: null } };
    }
  }

  return {
    placesRoots,
    changes: createChangeFiles({ env, root, crash }),
    prepare,
    findProblem,
    async find(runId, data) {
      const owner = data.base === null ? null : await readOwner(checkoutFolder(root, runId));
      return owner && owner.runId === runId && owner.base === data.base ? toPrepared(owner, data, true) : null;
    },
    save: (runId, { data }) => (data.base === null ? Promise.resolve(nothingSaved) : save(runId)),
    async remove(runId, { data }) {
      const folder = data.kind === 'empty' ? join(root, 'empty', runId) : data.base === null ? null : checkoutFolder(root, runId);
      if (folder === null) return;
      crash('before workspace.remove');
      await removeTree(folder).catch(() => {});
      crash('after workspace.remove');
    },
    leftovers: () => listLeftovers(root),
    async forget(runIds) {
      for (const runId of runIds) await removeTree(checkoutFolder(root, runId)).catch(() => {});
    },
    discardFolder: (path) => removeLeftover(root, path),
  };
}

const nothingSaved: SavedWorkspace = { data: { changes: null, files: 0, notices: [], patch: null }, lines: [], patchBytes: 0, blobs: [] };

function toRepository(source: CheckoutRequest['source']): { repository?: Repository } {
  return source.kind === 'commit' ? { repository: source.repository } : {};
}

/** The real path of a folder that a run may use: one that is shared, or a checkout of its tree. */
async function assertAllowed(given: string, { isAllowed }: CreateOptions, root: string): Promise<string> {
  const path = await realpath(given).catch(() => null);
  if (path === null) throw new RetinueError('workspace', `the folder ${given} does not exist on this machine`, { retryable: true });
  if (!isAllowed(path) && !isUnder(path, await realpath(root).catch(() => root)))
    throw new RetinueError('workspace', `this worker may not use ${path}; start it with \`--shared ${path}\` to allow that`, {
      retryable: true,
    });
  return path;
}

async function prepareDirectory(given: string, options: CreateOptions): Promise<PreparedWorkspace> {
  const path = await assertAllowed(given, options, '/nonexistent');
  return { data: { base: null, commit: null, kind: 'directory', notices: [], path }, objects: [], mounts: [], isKept: true };
}

/** Writes the changes that an earlier process saved, onto the files that they were made from. */
async function writeSaved(folder: string, { set, read }: NonNullable<CheckoutRequest['saved']>): Promise<void> {
  for (const { path, after } of set.changes) {
    const stored = after && (await read(after.hash));
    const bytes = typeof stored === 'string' ? Buffer.from(stored) : stored;
    if (after && (!bytes || hashBytes(bytes) !== after.hash))
      throw new RetinueError('workspace', `the stored content of ${path} is missing or was changed`);
    const found = await readPath(folder, path);
    const content = after && bytes ? { mode: after.mode, content: bytes } : null;
    const isWritten = await replacePath(folder, path, { before: findFileState(found), after: content });
    if (!isWritten) throw new RetinueError('workspace', `the saved change of ${path} cannot be written`);
  }
}

/** Files that were given with the brief. Git ignores them, so they are part of no snapshot. */
async function copyAttached(folder: string, { from, paths }: CheckoutRequest['attached']): Promise<void> {
  for (const path of paths) {
    const found = await readPath(from, path);
    if (found.kind === 'file') await replacePath(folder, path, { before: null, after: { mode: '100644', content: found.content } });
  }
}

async function readUserFiles(env: Env): Promise<{ userSettings: string; userIgnore: string }> {
  const home = env.HOME && isAbsolute(env.HOME) ? env.HOME : homedir();
  const folder = join(env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME) ? env.XDG_CONFIG_HOME : join(home, '.config'), 'git');
  const texts = await Promise.all([join(home, '.gitconfig'), join(folder, 'config'), join(folder, 'attributes')].map(readSmall));
  const userSettings = texts.map((text) => text ?? '').join('\n');
  const named = /^\s*excludesfile\s*=\s*"?([^"\n]+?)"?\s*$/im.exec(userSettings)?.[1]?.replace(/^~(?=\/)/, home);
  return { userSettings, userIgnore: (await readSmall(named ?? join(folder, 'ignore'))) ?? '' };
}

function isUnder(path: string, top: string): boolean {
  const inside = relative(top, path);
  return inside === '' || (inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside));
}
