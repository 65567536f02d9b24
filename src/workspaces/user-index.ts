// A copy of the index that git keeps for a folder of the user: which files are tracked, and which of them have changed.
import { lstat } from 'node:fs/promises';
import type { GitOptions } from './git.ts';
import { joinNul, type SnapshotRequest, splitNul, toBytes } from './snapshot.ts';

export interface IndexedFiles {
  /** Tracked, also if an ignore rule matches. */
  tracked: Set<string>;
  /** Not tracked and not ignored. */
  untracked: string[];
  /** Tracked files that git does not compare with the index: `assume-unchanged` and `skip-worktree`. */
  assumed: string[];
  skipped: string[];
}

/** Rejects if git cannot read the index. */
export async function listIndexedFiles(request: SnapshotRequest): Promise<IndexedFiles> {
  const { git } = request;
  const found: IndexedFiles = { tracked: new Set(), untracked: [], assumed: [], skipped: [] };
  for (const entry of splitNul((await git(['ls-files', '-z', '-v', '-c', '-o', '--exclude-standard'], optionsOf(request))).out)) {
    const [tag, path] = [entry[0] ?? '', entry.slice(2)];
    if (tag === '?') found.untracked.push(path);
    else found.tracked.add(path);
    // Small letters stand for `assume-unchanged`.
    if (/[a-z]/.test(tag)) found.assumed.push(path);
    if (tag === 'S' || tag === 's') found.skipped.push(path);
  }
  return found;
}

/** Makes git compare every file that exists. Returns skipped files that do not: they are outside a sparse checkout, and not deleted. */
export async function clearFlags({ assumed, skipped }: IndexedFiles, request: SnapshotRequest): Promise<Set<string>> {
  const { git, workTree } = request;
  const options = optionsOf(request);
  const missing = new Set<string>();
  for (const path of skipped) if (!(await lstat(toBytes(workTree, path)).catch(() => null))) missing.add(path);
  const existing = skipped.filter((path) => !missing.has(path));
  if (existing.length > 0) await git(['update-index', '-z', '--no-skip-worktree', '--stdin'], { ...options, input: joinNul(existing) });
  if (assumed.length > 0) await git(['update-index', '-z', '--no-assume-unchanged', '--stdin'], { ...options, input: joinNul(assumed) });
  return missing;
}

/** Tracked files that are not as in the index, by their times and sizes. */
export async function listChangedFiles(request: SnapshotRequest): Promise<string[]> {
  return splitNul((await request.git(['ls-files', '-z', '-m'], optionsOf(request))).out);
}

/** Makes git compare the bytes of all tracked files with what it has stored, whatever their times are. */
export async function forgetTimes(except: ReadonlySet<string>, request: SnapshotRequest): Promise<void> {
  const { git } = request;
  const options = optionsOf(request);
  const entries = splitNul((await git(['ls-files', '-s', '-z'], options)).out);
  const input = joinNul(entries.filter((entry) => !except.has(entry.slice(entry.indexOf('\t') + 1))));
  await git(['update-index', '-z', '--index-info'], { ...options, input });
}

function optionsOf({ gitDir, index, workTree, objects, signal }: SnapshotRequest): GitOptions {
  return { gitDir, index, workTree, objects, signal };
}
