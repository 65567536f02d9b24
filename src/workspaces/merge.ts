// Merges files that two sides have changed, with git: one call for all files of a run.
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Git } from './git.ts';
import { writeGitFolder } from './private-git.ts';
import { splitNul } from './snapshot.ts';

/** The contents of one file: before both changes, as it is now, and as the run left it. */
export interface MergeFile {
  base: Uint8Array;
  now: Uint8Array;
  run: Uint8Array;
}

export interface MergeOptions {
  git: Git;
  /** Where the objects of the merge are, for a moment. */
  root: string;
  signal?: AbortSignal | undefined;
}

/** The merged contents in the order of the files; null for a conflict. Rejects with `workspace`. */
export async function mergeFiles(files: readonly MergeFile[], { git, root, signal }: MergeOptions): Promise<(Buffer | null)[]> {
  if (files.length === 0) return [];
  const gitDir = join(root, `merge-${randomBytes(6).toString('hex')}`);
  try {
    await writeGitFolder(gitDir, { isBare: true });
    const options = { gitDir, signal };
    await git(['fast-import', '--quiet'], { ...options, input: toStream(files) });
    const { out } = await git(['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', 'refs/heads/now', 'refs/heads/run'], {
      ...options,
      accept: [1],
    }).catch(explainOldGit);
    const [tree = '', ...conflicts] = splitNul(out);
    const input = files.map((_, n) => `${tree}:f${n}\n`).join('');
    const merged = parseBatch((await git(['cat-file', '--batch'], { ...options, input })).out, files.length);
    return merged.map((content, n) => (conflicts.includes(`f${n}`) ? null : content));
  } finally {
    await rm(gitDir, { recursive: true, force: true });
  }
}

function explainOldGit(error: unknown): never {
  if (isRetinueError(error) && /usage:|unknown|not a git command/i.test(error.message))
    throw new RetinueError('workspace', 'this git cannot merge without a working tree; install version 2.38 or later', { cause: error });
  throw error;
}

/** Three commits: the base, and both sides on it. Files have numbers as names, so their real names cannot matter. */
function toStream(files: readonly MergeFile[]): Buffer {
  const parts: Buffer[] = [];
  const text = (line: string) => parts.push(Buffer.from(line));
  for (const [branch, side] of [
    ['base', 'base'],
    ['now', 'now'],
    ['run', 'run'],
  ] as const) {
    text(`commit refs/heads/${branch}\ncommitter Retinue <retinue@localhost> 0 +0000\ndata 0\n`);
    if (branch !== 'base') text('from refs/heads/base\n');
    for (const [n, file] of files.entries()) {
      const content = file[side];
      text(`M 100644 inline f${n}\ndata ${content.length}\n`);
      parts.push(Buffer.from(content));
      text('\n');
    }
    text('\n');
  }
  return Buffer.concat(parts);
}

function parseBatch(out: Buffer, count: number): Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  for (let n = 0; n < count; n++) {
    const end = out.indexOf(10, at);
    const size = Number(out.toString('latin1', at, end).split(' ')[2]);
    found.push(out.subarray(end + 1, end + 1 + size));
    at = end + 2 + size;
  }
  return found;
}
