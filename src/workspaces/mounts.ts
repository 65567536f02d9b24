// Ignored files of a source that a checkout needs: folders of installed packages are shown read-only by the sandbox, and small files that
// `.worktreeinclude` names are copied.
import { constants } from 'node:fs';
import { copyFile, lstat, mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { Git } from './git.ts';
import { readSmall } from './local-repository.ts';
import { describeHardLinks, hasOtherNames, joinNul, splitNul, toPrintable } from './snapshot.ts';

export const WorkspaceMountSchema = z.strictObject({ source: z.string(), path: z.string() });

/** Folders that package managers fill. Commands rarely write there, and they are too large to copy. */
export const packageFolders = [
  'node_modules',
  'bower_components',
  '.venv',
  'venv',
  '__pypackages__',
  'vendor',
  'Pods',
  '.yarn',
  '.pnpm-store',
];

const includeFile = '.worktreeinclude';
const maxIncludedFiles = 1000;
const maxIncludedBytes = 64 * 1024 ** 2;
const maxMounts = 64;

export interface IgnoredRequest {
  git: Git;
  gitDir: string;
  index: string;
  /** The folder that was copied, and the part of it that is the workspace. */
  top: string;
  prefix: string;
  /** The copy. */
  files: string;
  signal: AbortSignal;
}

/** Folders of packages that are ignored. Paths are relative to the workspace. */
export async function findPackageFolders({
  git,
  gitDir,
  index,
  top,
  prefix,
  signal,
}: IgnoredRequest): Promise<{ source: string; path: string }[]> {
  const options = { gitDir, index, workTree: top, signal };
  const scope = prefix === '' ? [] : ['--', prefix];
  const listed = await git(['ls-files', '-z', '-o', '-i', '--exclude-standard', '--directory', ...scope], options);
  return splitNul(listed.out)
    .filter((path) => path.endsWith('/') && path.startsWith(prefix) && packageFolders.includes(basename(path)))
    .map(toPrintable)
    .slice(0, maxMounts)
    .map((path) => ({ source: join(top, path), path: path.slice(prefix.length, -1) }));
}

/** Copies ignored files that `.worktreeinclude` names. `notices`: about what was not copied. */
export async function copyIncluded(request: IgnoredRequest): Promise<{ included: string[]; notices: string[] }> {
  const { git, gitDir, index, top, prefix, files, signal } = request;
  const patterns = join(top, includeFile);
  if (((await readSmall(patterns)) ?? '').trim() === '') return { included: [], notices: [] };
  const options = { gitDir, index, workTree: top, signal };
  const scope = prefix === '' ? [] : ['--', prefix];
  const named = splitNul((await git(['ls-files', '-z', '-o', '-i', `--exclude-from=${patterns}`, ...scope], options)).out);
  const plain = named.filter((path) => !path.startsWith(':'));
  if (plain.length === 0) return { included: [], notices: [] };
  const checked = await git(['check-ignore', '-z', '--stdin'], { ...options, input: joinNul(plain), accept: [1], magic: true });
  let bytes = 0;
  const included: string[] = [];
  const linked: string[] = [];
  let left = 0;
  for (const path of splitNul(checked.out).map(toPrintable)) {
    const from = join(top, path);
    const found = await lstat(from).catch(() => null);
    if (!found?.isFile()) continue;
    if (hasOtherNames(found, path)) {
      linked.push(path);
      continue;
    }
    if (included.length >= maxIncludedFiles || bytes + found.size > maxIncludedBytes) {
      left++;
      continue;
    }
    included.push(path);
    bytes += found.size;
    await mkdir(dirname(join(files, path)), { recursive: true });
    await copyFile(from, join(files, path), constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE).catch(() => left++);
  }
  const notices = left === 0 ? [] : [`${left} of the files that ${includeFile} names were not copied: too many or too large`];
  return { included, notices: [...notices, ...describeHardLinks(linked)] };
}
