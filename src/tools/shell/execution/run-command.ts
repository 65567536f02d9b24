// Runs one shell command with the rights its run has now: in the sandbox if there is one, otherwise only if the rules allow it without.
// This folder runs commands; `../analysis` decides what rules see of them.
//
//   run-command.ts      rights, sandbox and protected paths around one command
//   run-process.ts      starts it, waits, stops it, collects its output; with process-monitor.ts, read-pipe.ts and bounded-output.ts
//   closed-paths.ts     finds the files that rules close
//   watch-links.ts      restores links to closed files that it has replaced
//   watch-protected.ts  renames protected files that it has created; with move-aside.ts
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadableFolder, Sandbox, SandboxedCommand, ShownFolder } from '../../../ports/sandbox.ts';
import { sandboxOwner } from '../../../ports/sandbox.ts';
import type { Subject } from '../../../ports/subject.ts';
import type { Rights, ToolContext } from '../../../ports/tool.ts';
import { findGitControlledPaths } from '../../files/git-controlled-paths.ts';
import { closedAliases, gitRepositoryNames, protectedPaths } from '../../files/paths.ts';
import { protectedNamePattern } from '../../files/protected-files.ts';
import { createToolRefusal, type Refusal } from '../../refusal.ts';
import { findClosedPaths } from './closed-paths.ts';
import { moveAside } from './move-aside.ts';
import { type ProcessRequest, type ProcessResult, runProcess } from './run-process.ts';
import { watchLinks } from './watch-links.ts';
import { watchProtectedPaths } from './watch-protected.ts';

export interface CommandRequest extends Omit<ProcessRequest, 'sandboxed'> {
  rights: Rights;
  /** Folders outside the workspace that it may read. */
  readable?: readonly string[] | undefined;
  /** The checkout that the folder of the command is, if it is one. */
  files?: ToolContext['files'];
  /** The subjects that rules matched for this call. */
  subjects(): Promise<Subject[]>;
}

export interface CommandOptions {
  /** Null: commands run unconfined. */
  sandbox: Sandbox | null;
  /** Why no command may be started at all, such as a required sandbox that is missing. */
  closed?: string | null;
}

export interface CommandResult {
  ok: true;
  result: ProcessResult;
  /** Sentences for the model. */
  notes: string[];
  /** Whether a protected file that the command created could not be renamed. */
  hasLeftProtected: boolean;
}

export async function runCommand(request: CommandRequest, { sandbox, closed }: CommandOptions): Promise<CommandResult | Refusal> {
  if (closed) return createToolRefusal(closed);
  if (sandbox === null) return runUnsandboxed(request);
  const { rights, argv, cwd, env } = request;
  const isAllowed = (name: string) => rights.decide(name, []).action === 'allow';
  const canWrite = hasWriteTools(rights);
  const unreadable = await findClosedPaths(cwd, rights.closedPaths.read);
  if (!unreadable.ok) return unreadable;
  const unwritable = canWrite ? await findClosedPaths(cwd, rights.closedPaths.write) : { ok: true as const, paths: [''], isPartial: false };
  if (!unwritable.ok) return unwritable;
  const writable = !unwritable.paths.includes('');
  const readable = await findReadable(request);
  if (!readable.ok) return readable;
  const shown = await findShown(request);
  if (!shown.ok) return shown;
  const git = isAllowed('git');
  const { repository, configured, problem } = await findGitControlledPaths(cwd);
  if (problem !== null && writable) return createToolRefusal(`the command was not started, because ${problem}`);
  const named = await findProtectedNames(cwd);
  const protect = [...protectedPaths, ...named, ...configured, ...(git ? [] : [...gitRepositoryNames, ...repository])];
  const hide = [...closedAliases, ...unreadable.paths];
  const watched = writable ? watchProtectedPaths(cwd, [...protect, ...closedAliases]) : null;
  if (watched?.ok === false) return watched;
  using watch = watched?.watch;
  using links = writable ? watchLinks(cwd, [...unwritable.paths, ...unreadable.paths]) : undefined;
  const network = isAllowed('network');
  const made = await sandbox.confine({
    ...{ argv, workspace: cwd, writable, git, network, hide, env },
    readable: [...readable.folders, ...(request.files?.objects ?? []).map((path) => ({ path, hide: [] }))],
    shown: shown.folders,
    protect: [...protect, ...(writable ? unwritable.paths : [])],
  });
  if (!made.ok) return createToolRefusal(made.reason);
  const { result, limitsReached } = await runInSandbox(made.confined, request);
  const changed = (await links?.restoreChanged()) ?? { restored: [], moved: [], left: [] };
  const { moved, left } = (await watch?.renameCreated()) ?? { moved: [], left: [] };
  if (writable) await renameClosed(cwd, rights, { before: [...unwritable.paths, ...named], nested: !unwritable.isPartial, moved, left });
  if (!result.ok) return result;
  moved.unshift(...changed.moved);
  const restored = changed.restored.map(
    (name) => `${name} leads to a closed file and may not be changed by a command; the link was restored`,
  );
  const broken = changed.left.map((name) => `${name} led to a closed file and could not be restored; remove what is there now`);
  const renamed = moved.map((name) => `${name} may not be created by a command; it was renamed`);
  const remaining = left.map((name) => `${name} may not be created by a command and could not be renamed; remove it`);
  return {
    ok: true,
    result,
    notes: [...limitsReached, ...restored, ...renamed, ...broken, ...remaining],
    hasLeftProtected: broken.length + remaining.length > 0,
  };
}

/** Whether the run has tools that write, so that commands in the sandbox may write too, where no rule closes a path. */
export function hasWriteTools({ tools }: Rights): boolean {
  return ['write', 'edit'].some((name) => tools.includes(name));
}

/** The added folders as the sandbox shows them: without what rules close, which refer to them by absolute path. */
async function findReadable({ readable = [], rights }: CommandRequest): Promise<{ ok: true; folders: ReadableFolder[] } | Refusal> {
  const folders: ReadableFolder[] = [];
  for (const path of readable) {
    const found = await findClosedPaths(path, rights.closedPaths.read, { prefix: `${path}/` });
    if (!found.ok) return found;
    if (!found.paths.includes('')) folders.push({ path, hide: [...closedAliases, ...found.paths].map((name) => join(path, name)) });
  }
  return { ok: true, folders };
}

/** Folders of packages that a checkout shows: without what rules close, by their paths in the checkout. */
async function findShown({ files, cwd, rights }: CommandRequest): Promise<{ ok: true; folders: ShownFolder[] } | Refusal> {
  const folders: ShownFolder[] = [];
  for (const { source, path } of files?.mounts ?? []) {
    const found = await findClosedPaths(source, rights.closedPaths.read, { prefix: `${path}/`, nested: false });
    if (!found.ok) return found;
    const at = join(cwd, path);
    if (!found.paths.includes('')) folders.push({ source, path: at, hide: found.paths.map((name) => join(at, name)) });
  }
  return { ok: true, folders };
}

/** Files at the top of the workspace whose names are protected by a pattern. */
async function findProtectedNames(root: string): Promise<string[]> {
  return (await readdir(root).catch(() => [])).filter((name) => protectedNamePattern.test(name));
}

/** Files that the command created where rules close writing, and that no mount could prevent. */
async function renameClosed(
  root: string,
  { closedPaths }: Rights,
  { before, nested, moved, left }: { before: string[]; nested: boolean; moved: string[]; left: string[] },
): Promise<void> {
  const after = await findClosedPaths(root, closedPaths.write, { nested });
  if (!after.ok) return void left.push(after.reason);
  after.paths.push(...(await findProtectedNames(root)));
  // Retinue itself creates these next to its database, which is closed.
  const isOwn = (path: string) => before.includes(path.replace(/-(wal|shm)$/, ''));
  for (const path of after.paths.filter((each) => !before.includes(each) && !isOwn(each)))
    await moveAside(root, path).then(
      (names) => moved.push(...names),
      () => left.push(path),
    );
}

/** A rule that allows commands only because of a sandbox does not count here; every other ruleset still applies to every subject. */
async function runUnsandboxed(request: CommandRequest): Promise<CommandResult | Refusal> {
  if (request.rights.decide('bash', await request.subjects(), { without: sandboxOwner }).action === 'deny')
    return createToolRefusal(
      'this run may start commands only in a sandbox, and none is available; run `retinue doctor` to see how to get one',
    );
  const result = await runProcess(request);
  return result.ok ? { ok: true, result, notes: [], hasLeftProtected: false } : result;
}

async function runInSandbox(
  sandboxed: SandboxedCommand,
  request: ProcessRequest,
): Promise<{ result: ProcessResult | Refusal; limitsReached: string[] }> {
  let result: ProcessResult | Refusal;
  let limitsReached: string[] = [];
  try {
    result = await runProcess({ ...request, argv: sandboxed.argv, env: sandboxed.env, sandboxed });
  } finally {
    limitsReached = await sandboxed.release();
  }
  return { result, limitsReached };
}
