// Plans how the changes of runs get into the files of a workspace. Nothing is written here.
//
// P1. The changes of a run are taken over as a whole or not at all, unless the request is exact.
// P2. Each run is merged on the files as the runs before it leave them.
import { access, constants, lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ChangeStep, type FileState, isSameState, type PathChange } from '../contract/change-set.ts';
import { RetinueError } from '../contract/error.ts';
import type { ChangePlan, ChangesOfRun, PathConflict, PlanRequest } from '../ports/checkouts.ts';
import type { StoredBlob } from '../ports/store.ts';
import { forEachAtOnce } from './at-once.ts';
import { type MergeFile, type MergeOptions, mergeFiles } from './merge.ts';
import { type FileContent, hashBytes, type PathContent, readPath } from './path-files.ts';

/** A file with its content; null: no file. */
type Version = (FileContent & { state: FileState }) | null;

export async function planChanges(request: PlanRequest, options: Omit<MergeOptions, 'signal'>): Promise<ChangePlan> {
  /** What is on disk, by path. */
  const original = new Map<string, Version>();
  /** What the runs so far make of it. */
  const planned = new Map<string, Version>();
  const onDisk = await readFiles(request);
  const folders: Versions['folders'] = new Map();
  const merged: string[] = [];
  const conflicts: ChangePlan['conflicts'] = [];
  const steps: ChangeStep[] = [];
  const blobs = new Map<string, StoredBlob>();
  for (const run of request.changes) {
    const result = await mergeRun(run, { original, planned, onDisk, folders }, request, options);
    if (result.conflicts.length > 0) conflicts.push({ runId: run.runId, paths: result.conflicts });
    else merged.push(run.runId);
    if (result.conflicts.length > 0 && !request.isExact) continue;
    const step = toStep(result.versions, (path) => (planned.has(path) ? planned.get(path) : original.get(path)) ?? null);
    for (const [path, version] of result.versions) planned.set(path, version);
    for (const blob of step.blobs) blobs.set(blob.hash, blob);
    if (step.changes.length > 0) steps.push({ runId: run.runId, changes: step.changes });
  }
  const set = { v: 1 as const, changes: toStep(planned, (path) => original.get(path) ?? null).changes };
  return { merged, conflicts, set, steps, blobs: [...blobs.values()] };
}

async function readFiles({ workspace, changes }: PlanRequest): Promise<Map<string, PathContent>> {
  const paths = [...new Set(changes.flatMap(({ set }) => set.changes.map(({ path }) => path)))].filter((path) => !isReserved(path));
  const found = new Map<string, PathContent>();
  await forEachAtOnce(paths, async (path) => void found.set(path, await readPath(workspace, path)));
  return found;
}

interface Versions {
  onDisk: ReadonlyMap<string, PathContent>;
  original: Map<string, Version>;
  planned: Map<string, Version>;
  /** Why files in a folder cannot be written, as far as that is known; null if they can. */
  folders: Map<string, string | null>;
}

async function mergeRun(
  { set }: ChangesOfRun,
  { original, planned, onDisk, folders }: Versions,
  request: PlanRequest,
  options: Omit<MergeOptions, 'signal'>,
) {
  const versions = new Map<string, Version>();
  const conflicts: PathConflict[] = [];
  const open: { path: string; mode: FileState['mode']; file: MergeFile }[] = [];
  const deleted = new Set(set.changes.filter(({ after }) => after === null).map(({ path }) => path));
  for (const change of set.changes) {
    const { path } = change;
    const denial = isReserved(path) ? 'is closed' : request.refuse(path);
    const found = denial === null ? await current(path, { original, planned, onDisk, folders, deleted }, request) : { problem: denial };
    if ('problem' in found) {
      conflicts.push({ path, reason: found.problem });
      continue;
    }
    const decided = await decide(change, found.version, request);
    const isSame = 'version' in decided && isSameState(decided.version?.state ?? null, found.version?.state ?? null);
    const denied = 'conflict' in decided || isSame ? null : await findReadOnlyFolder(dirname(path), folders, request);
    if (denied !== null) conflicts.push({ path, reason: denied });
    else if ('conflict' in decided) conflicts.push({ path, reason: decided.conflict });
    else if ('merge' in decided) open.push({ path, mode: decided.mode, file: decided.merge });
    else versions.set(path, decided.version);
  }
  // Without this the merge of a run that is left out anyway would cost time.
  if (conflicts.length > 0) return { versions, conflicts };
  const files = open.map(({ file }) => file);
  for (const [n, content] of (await mergeFiles(files, { ...options, signal: request.signal })).entries()) {
    const { path, mode } = open[n] as (typeof open)[number];
    if (content === null) conflicts.push({ path, reason: 'was changed in the same place' });
    else versions.set(path, toVersion(mode, content));
  }
  return { versions, conflicts };
}

/** Git's own files and Retinue's are part of no change. */
function isReserved(path: string): boolean {
  return path.split('/').some((name) => /^\.(git|retinue)$/i.test(name) || name === '' || name === '.' || name === '..');
}

type Known = Versions & { deleted: ReadonlySet<string> };

/** What the path is before this run's change. */
async function current(path: string, known: Known, { workspace }: PlanRequest): Promise<{ version: Version } | { problem: string }> {
  const { planned, original, onDisk } = known;
  if (planned.has(path)) return { version: planned.get(path) ?? null };
  const found: PathContent = onDisk.get(path) ?? { kind: 'missing' };
  if (found.kind === 'other' && !(await isMadeFree(path, known, workspace))) return { problem: describeOther(found) };
  const version = found.kind === 'file' ? toVersion(found.state.mode, found.content) : null;
  original.set(path, version);
  return { version };
}

function describeOther(found: PathContent & { kind: 'other' }): string {
  return `is ${found.what}`;
}

/** Whether what is in the way of a file is removed by the same changes: a file above it, or every file in a folder of its name. */
async function isMadeFree(path: string, { deleted, planned }: Known, workspace: string): Promise<boolean> {
  const isGone = (each: string) => deleted.has(each) || planned.get(each) === null;
  const above = path
    .split('/')
    .slice(0, -1)
    .map((_, n, names) => names.slice(0, n + 1).join('/'));
  for (const each of above) {
    const stats = await lstat(join(workspace, each)).catch(() => null);
    if (stats && !stats.isDirectory()) return isGone(each);
  }
  const stats = await lstat(join(workspace, path)).catch(() => null);
  if (!stats?.isDirectory()) return false;
  const inside = await readdir(join(workspace, path), { recursive: true, withFileTypes: true });
  return inside.every((entry) => entry.isDirectory() || isGone(join(entry.parentPath, entry.name).slice(workspace.length + 1)));
}

/** Why files cannot be put into a folder, or removed from it; null if they can. A folder that does not exist yet is made in the one above. */
async function findReadOnlyFolder(folder: string, known: Versions['folders'], request: PlanRequest): Promise<string | null> {
  const found = known.get(folder);
  if (found !== undefined) return found;
  const at = join(request.workspace, folder);
  const isFolder = (await lstat(at).catch(() => null))?.isDirectory() === true;
  const isWritable = await access(at, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  const above = isFolder || folder === '.' ? null : await findReadOnlyFolder(dirname(folder), known, request);
  const reason = isFolder && !isWritable ? `is in ${folder === '.' ? 'the workspace' : folder}, where you may not write` : above;
  known.set(folder, reason);
  return reason;
}

type Decision = { version: Version } | { conflict: string } | { merge: MergeFile; mode: FileState['mode'] };

async function decide({ before, after }: PathChange, now: Version, { read, isExact }: PlanRequest): Promise<Decision> {
  const state = now?.state ?? null;
  if (isSameState(state, after)) return { version: now };
  const content = async (side: FileState) => {
    const bytes = await read(side.hash);
    if (bytes === null)
      throw new RetinueError('workspace', 'the stored contents of these changes are missing; an export does not contain them');
    return typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes);
  };
  if (isSameState(state, before)) return { version: after && toVersion(after.mode, await content(after)) };
  if (isExact) return { conflict: 'has changed since' };
  if (before === null) return { conflict: 'exists already' };
  if (now === null) return { conflict: 'was deleted' };
  if (after === null) return { conflict: 'was changed, but the run deleted it' };
  if ([before, after, now.state].some(({ mode }) => mode === '120000')) return { conflict: 'was changed' };
  const mode = before.mode === now.mode ? after.mode : now.mode;
  if (before.hash === after.hash) return { version: { ...now, mode, state: { ...now.state, mode } } };
  if (before.hash === now.state.hash) return { version: toVersion(mode, await content(after)) };
  return { mode, merge: { base: await content(before), now: now.content, run: await content(after) } };
}

function toVersion(mode: FileState['mode'], content: Uint8Array): NonNullable<Version> {
  return { mode, content, state: { mode, hash: hashBytes(content), bytes: content.length } };
}

/** What changes from one version of the files to the next, with the contents of both. */
function toStep(
  versions: ReadonlyMap<string, Version>,
  previous: (path: string) => Version,
): { changes: PathChange[]; blobs: StoredBlob[] } {
  const blobs: StoredBlob[] = [];
  const changes: PathChange[] = [];
  for (const [path, after] of [...versions].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const before = previous(path);
    if (isSameState(before?.state ?? null, after?.state ?? null)) continue;
    for (const side of [before, after]) if (side) blobs.push({ hash: side.state.hash, content: side.content });
    changes.push({ path, before: before?.state ?? null, after: after?.state ?? null });
  }
  return { changes, blobs };
}
