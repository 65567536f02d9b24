// The files that a case begins with.
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { RetinueError } from '../contract/error.ts';

const maxBytes = 256 * 1024 ** 2;
/** They are no part of a copy, or are mounted read-only. */
const skippedNames: ReadonlySet<string> = new Set(['.git', 'node_modules', '.retinue']);

/** A hash of all names, modes and contents below the folder. Rejects with `usage`. */
export async function hashFixture(folder: string): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  async function add(path: string, name: string): Promise<void> {
    const found = await lstat(path);
    if (found.isDirectory()) {
      const entries = (await readdir(path)).filter((entry) => !skippedNames.has(entry)).sort();
      for (const entry of entries) await add(join(path, entry), name === '' ? entry : `${name}/${entry}`);
    } else if (found.isSymbolicLink()) hash.update(JSON.stringify(['link', name, await readlink(path)]));
    else if (found.isFile()) {
      bytes += found.size;
      if (bytes > maxBytes) throw new RetinueError('usage', `the fixture ${folder} has more than ${maxBytes / 1024 ** 2} MiB`);
      const content = await readFile(path);
      hash.update(JSON.stringify(['file', name, (found.mode & 0o100) !== 0, content.length]));
      hash.update(content);
    }
  }
  await add(folder, '');
  return hash.digest('hex');
}

/**
 * The real path of a fixture. Rejects with `usage` if it is no folder, or outside `root`: a file of a repository must not choose which folders of the
 * machine a run sees.
 */
export async function findFixture(path: string, root: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real === null || !(await lstat(real)).isDirectory()) throw new RetinueError('usage', `the fixture ${path} is not a folder`);
  if (!isInside(root, real))
    throw new RetinueError(
      'usage',
      `the fixture ${path} leads to ${real}, outside ${root}; put the fixture there, without links that lead out`,
    );
  return real;
}

/** The folder in which the fixtures of an eval file must be: the workspace, or the folder of a file elsewhere, which the user has named. */
export async function findFixtureRoot(file: string, workspace: string): Promise<string> {
  const root = await realpath(workspace);
  return isInside(workspace, file) || isInside(root, file) ? root : dirname(await realpath(file));
}

function isInside(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** A folder without files, for cases without a fixture. */
export async function createEmptyFixture(stateFolder: string): Promise<string> {
  const path = join(stateFolder, 'empty-fixture');
  await mkdir(path, { recursive: true, mode: 0o700 });
  if ((await readdir(path)).length > 0) throw new RetinueError('usage', `${path} must be empty; remove what is in it`);
  return realpath(path);
}
