// What a run has changed in its checkout: a change set with contents, and a patch.
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChangeSet, FileState, PathChange } from '../contract/change-set.ts';
import type { SavedWorkspace } from '../ports/checkouts.ts';
import type { StoredBlob } from '../ports/store.ts';
import type { Git } from './git.ts';
import type { FolderOwner } from './owner.ts';
import { hashBytes } from './path-files.ts';
import { splitNul, takeSnapshot, toBytes, toPrintable } from './snapshot.ts';

export interface SaveOptions {
  git: Git;
  /** The folder of the checkout. */
  folder: string;
  maxBytes: number;
  signal: AbortSignal;
}

const gitlink = '160000';

interface RawChange {
  path: string;
  before: { mode: string; object: string } | null;
  after: { mode: string; object: string } | null;
}

/** Changes nothing that the run sees. Rejects with `workspace` if there is too much to store, or with system errors. */
export async function collectChanges(owner: FolderOwner, { git, folder, maxBytes, signal }: SaveOptions): Promise<SavedWorkspace> {
  const gitDir = join(folder, 'git');
  const workTree = join(folder, 'files');
  const index = join(gitDir, 'index');
  const { base, prefix, objects } = owner;
  const { tree, notices } = await takeSnapshot({ git, gitDir, index, workTree, prefix, objects, maxBytes, signal });
  const options = { gitDir, signal };
  const scope = prefix === '' ? [] : [`--relative=${prefix}`];
  const listed = await git(['diff-tree', '-r', '-z', '--no-renames', ...scope, base, tree], options);
  const raw = parseRaw(listed.out);
  const isLink = ({ before, after }: RawChange) => before?.mode === gitlink || after?.mode === gitlink;
  const kept = raw.filter((change) => !isLink(change));
  const submodules = await findSubmodules(owner, raw.filter(isLink), { git, gitDir, workTree, signal });
  const ignored = await listIgnored(owner, { git, gitDir, index, workTree, signal });
  const unstored = [...ignored, ...submodules.filled.map((path) => `${path}/`)].filter((path) => path.startsWith(prefix));
  const common = {
    notices: [...notices, ...describeSubmodules(submodules, workTree), ...describeIgnored(ignored)],
    ...(unstored.length > 0 && { unstored: unstored.slice(0, maxUnstored).map((path) => path.slice(prefix.length)) }),
    ...(submodules.filled.length > 0 && { left: workTree }),
  };
  if (kept.length === 0) return { data: { changes: null, patch: null, files: 0, ...common }, lines: [], patchBytes: 0, blobs: [] };
  const contents = await readObjects(
    kept.flatMap(({ before, after }) => [before?.object ?? [], after?.object ?? []].flat()),
    { git, gitDir, signal, maxBytes },
  );
  const toState = (side: RawChange['before']): FileState | null => {
    if (side === null) return null;
    const content = contents.get(side.object) as Buffer;
    return { bytes: content.length, hash: hashBytes(content), mode: toMode(side.mode) };
  };
  const changes = kept.map(
    ({ path, before, after }): PathChange => ({ path: toText(path), before: toState(before), after: toState(after) }),
  );
  const set: ChangeSet = { v: 1, changes };
  const format = ['--no-renames', '--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=all', ...scope];
  const patch = (
    await git(['diff-tree', '-r', '-p', '--binary', '--full-index', '--src-prefix=a/', '--dst-prefix=b/', ...format, base, tree], options)
  ).out;
  const counted = (await git(['diff-tree', '-r', '-z', '--numstat', ...format, base, tree], options)).out;
  const manifest = JSON.stringify(set);
  const blobs: StoredBlob[] = [...new Map([...contents.values()].map((content) => [hashBytes(content), content]))].map(
    ([hash, content]) => ({ hash, content }),
  );
  const manifestHash = hashBytes(Buffer.from(manifest));
  const patchHash = hashBytes(patch);
  blobs.push({ hash: manifestHash, content: manifest }, { hash: patchHash, content: patch });
  return {
    data: { changes: manifestHash, patch: patchHash, files: changes.length, ...common },
    lines: parseNumstat(counted, findNewModes(kept)),
    patchBytes: patch.length,
    blobs,
  };
}

/** `:mode mode hash hash status\0path\0`, as `diff-tree -z` prints it. */
function parseRaw(out: Buffer): RawChange[] {
  const parts = splitNul(out);
  const found: RawChange[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [oldMode = '', newMode = '', oldObject = '', newObject = ''] = (parts[i] as string).slice(1).split(' ');
    const side = (mode: string, object: string) => (mode === '000000' ? null : { mode, object });
    found.push({ path: parts[i + 1] as string, before: side(oldMode, oldObject), after: side(newMode, newObject) });
  }
  return found;
}

function toMode(mode: string): FileState['mode'] {
  return mode === '120000' || mode === '100755' ? mode : '100644';
}

/** Rejects for a path that is not UTF-8, which no change set can name. */
function toText(path: string): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(path, 'latin1'));
}

async function readObjects(
  objects: string[],
  { git, gitDir, signal, maxBytes }: { git: Git; gitDir: string; signal: AbortSignal; maxBytes: number },
): Promise<Map<string, Buffer>> {
  const unique = [...new Set(objects)];
  const input = unique.map((object) => `${object}\n`).join('');
  const sizes = (await git(['cat-file', '--batch-check=%(objectsize)'], { gitDir, signal, input })).out.toString('latin1').split('\n');
  if (sizes.reduce((sum, size) => sum + (Number(size) || 0), 0) > maxBytes) throw new Error('its changes are too large to be stored');
  const { out } = await git(['cat-file', '--batch'], { gitDir, signal, input });
  const found = new Map<string, Buffer>();
  let at = 0;
  for (const object of unique) {
    const end = out.indexOf(10, at);
    const [, kind, size] = out.toString('latin1', at, end).split(' ');
    if (kind !== 'blob') throw new Error(`the object ${object} is missing`);
    at = end + 1 + Number(size);
    found.set(object, out.subarray(end + 1, at));
    at += 1;
  }
  return found;
}

function parseNumstat(out: Buffer, modes: ReadonlyMap<string, string>): SavedWorkspace['lines'] {
  return splitNul(out).map((line) => {
    const [added = '', removed = '', path = ''] = line.split('\t');
    const toNumber = (text: string) => (text === '-' ? null : Number(text));
    const mode = modes.get(path);
    return { path: toPrintable(path), added: toNumber(added), removed: toNumber(removed), ...(mode !== undefined && { mode }) };
  });
}

/** Of files whose content is the same as before. */
function findNewModes(changes: RawChange[]): Map<string, string> {
  const same = changes.flatMap(({ path, before, after }) =>
    after && after.object === before?.object ? [[path, after.mode] as const] : [],
  );
  return new Map(same);
}

const maxNamed = 5;
const maxUnstored = 1000;

interface FolderDeps {
  git: Git;
  gitDir: string;
  workTree: string;
  signal: AbortSignal;
}

/** Submodules of the workspace. `changed`: their commit is not the same. `filled`: there are files, which no change set has. */
interface Submodules {
  changed: string[];
  filled: string[];
}

/** `changes`: those of submodules, with paths relative to the workspace. */
async function findSubmodules(
  { base, prefix }: FolderOwner,
  changes: RawChange[],
  { git, gitDir, workTree, signal }: FolderDeps,
): Promise<Submodules> {
  const entries = splitNul((await git(['ls-tree', '-r', '-z', base], { gitDir, signal })).out).filter((entry) => entry.startsWith(gitlink));
  const paths = entries.map((entry) => entry.slice(entry.indexOf('\t') + 1)).filter((path) => path.startsWith(prefix));
  const filled: string[] = [];
  for (const path of paths) if (await hasFiles(toBytes(workTree, path))) filled.push(toPrintable(path));
  return { changed: changes.map(({ path }) => toPrintable(`${prefix}${path}`)).filter((path) => !filled.includes(path)), filled };
}

/** Whether there is a file, or a folder with one in it. */
async function hasFiles(path: Buffer): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  if (!found?.isDirectory()) return found !== null;
  for (const name of await readdir(path, { encoding: 'buffer' }))
    if (await hasFiles(Buffer.concat([path, Buffer.from('/'), name]))) return true;
  return false;
}

function describeSubmodules({ changed, filled }: Submodules, workTree: string): string[] {
  return [
    ...changed.map((path) => `${path} is a submodule, so its changes are not part of the result`),
    ...filled.map((path) => `files in the submodule ${path} are not part of the result and were left in ${join(workTree, path)}`),
  ];
}

/** New files that are ignored, such as by a changed `.gitignore`. Those that were there from the beginning are not counted. */
async function listIgnored(owner: FolderOwner, { git, ...options }: FolderDeps & { index: string }): Promise<string[]> {
  const scope = owner.prefix === '' ? [] : ['--', owner.prefix];
  const listed = await git(['ls-files', '-z', '-o', '-i', '--exclude-standard', '--directory', ...scope], options);
  const mounted = owner.mounts.map(({ path }) => `${owner.prefix}${path}/`);
  return splitNul(listed.out)
    .map(toPrintable)
    .filter(
      (path) => !mounted.includes(path) && !owner.included.some((each) => each === path || (path.endsWith('/') && each.startsWith(path))),
    );
}

function describeIgnored(names: string[]): string[] {
  if (names.length === 0) return [];
  const shown = names.slice(0, maxNamed).join(', ');
  return [`ignored files are not part of the result: ${shown}${names.length > maxNamed ? ` and ${names.length - maxNamed} more` : ''}`];
}
