import { constants } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { inside } from './paths.ts';

/**
 * What git obeys in a workspace besides `.git`: a repository elsewhere that a file `.git` points to, and the folder that the repository's
 * configuration names for hooks. As paths inside the workspace; what lies outside is out of reach anyway.
 */
export async function gitPlaces(root: string): Promise<string[]> {
  const own = join(root, '.git');
  const at = await stat(own).catch(() => null);
  if (at === null) return [];
  const folder = at.isDirectory() ? own : resolve(root, /^gitdir:\s*(.+)$/m.exec(await textOf(own))?.[1]?.trim() ?? '.git');
  const shared = resolve(folder, (await textOf(join(folder, 'commondir'))).trim() || '.');
  const configs = await Promise.all([join(shared, 'config'), join(folder, 'config.worktree')].map(textOf));
  const hooks = configs.flatMap((text) =>
    [...text.matchAll(/^\s*hooksPath\s*=\s*"?([^"\n]+?)"?\s*$/gim)].map(([, path = '']) => resolve(root, path)),
  );
  const real = await Promise.all([folder, shared, ...hooks].flatMap((path) => [path, realpath(path).catch(() => path)]));
  return [...new Set(real.flatMap((path) => inside([root], path) ?? []))].filter((path) => path !== '' && path !== '.git');
}

const maxBytes = 65_536;

/** The beginning of a file; '' where there is none. */
async function textOf(path: string): Promise<string> {
  let file: FileHandle | null = null;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) return '';
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return '';
  } finally {
    await file?.close();
  }
}
