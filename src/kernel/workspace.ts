// Prepares, saves and removes the files of a run. A run without files of its own uses those of its parent.
//
// F1. Nothing of a run executes before its files are prepared and `workspace.prepared` is durable.
// F2. What it changed is durable, together with its end, before its files are deleted. What cannot be stored is left where it is.
import type { Artifact } from '../contract/artifact.ts';
import type { Brief } from '../contract/brief.ts';
import { ChangeSet } from '../contract/change-set.ts';
import { RetinueError } from '../contract/error.ts';
import type { Draft, FactData } from '../contract/fact.ts';
import type { CheckoutRequest, PreparedWorkspace, SavedWorkspace, WorkspaceSource } from '../ports/checkouts.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Store, StoredBlob } from '../ports/store.ts';
import { loadState } from './recovery/history.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import type { RunState } from './state/state.ts';

/** Tools that work on files. A run with one of them needs a workspace. */
const fileTools: readonly string[] = ['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash'];

/** Prepares the files of the run's ancestors, then its own. Rejects with `workspace`. */
export function ensureWorkspace(run: Run, services: Services): Promise<void> {
  run.preparing ??= (async () => {
    if (run.parent?.work) await ensureWorkspace(run.parent, services);
    const source = findSource(run, services);
    if (source !== null) await prepareFiles(run, source, services);
  })();
  return run.preparing;
}

/** Null if the run uses the files of its parent, or of the workspace that it was granted. */
function findSource(
  { state, parent, grant, workspace }: Pick<Run, 'state' | 'parent' | 'grant' | 'workspace'>,
  { checkouts }: Pick<Services, 'checkouts'>,
): WorkspaceSource | null {
  const { brief, isolation } = state.created.data;
  const isPlaced = parent === null && checkouts?.placesRoots === true;
  if (brief.repository) return { kind: 'commit', repository: brief.repository };
  if (brief.fixture !== undefined) return { kind: 'folder', path: brief.fixture, isAlone: true };
  if (isPlaced) assertFilesNamed(brief, { isolation, tools: grant.tools });
  if (isolation === 'worktree') return { kind: 'folder', path: (isPlaced ? brief.workspace : undefined) ?? parent?.workspace ?? workspace };
  if (!isPlaced) return null;
  return brief.workspace === undefined ? { kind: 'none' } : { kind: 'directory', path: brief.workspace };
}

/** A tree whose files this process cannot provide now, although another one may, or this one later. */
export interface FileProblem {
  problem: string;
  /** When the tree was created. */
  since: string;
}

/** Looks at a tree that nothing drives. Null if its files can be prepared, or if they never can be. */
export async function findFileProblem(
  rootId: string,
  { store, checkouts }: Pick<Services, 'store' | 'checkouts'>,
  signal: AbortSignal,
): Promise<FileProblem | null> {
  const row = checkouts ? await store.run(rootId) : null;
  if (!checkouts || row === null || row.endedAt !== null) return null;
  const state = await loadState(rootId, store);
  const { grant } = state.created.data;
  let source: WorkspaceSource | null;
  try {
    source = findSource({ state, parent: null, grant, workspace: grant.workspace }, { checkouts });
  } catch {
    return null; // the run ends with this error
  }
  const previous = state.files?.prepared ?? null;
  const problem = source && (await checkouts.findProblem({ runId: rootId, rootId, source, previous, signal }));
  return problem === null ? null : { problem, since: state.created.at };
}

/** A worker does not have the files of the client that sent the brief, so the brief must name some. Throws `invalid_brief`. */
export function assertFilesNamed(brief: Brief, { isolation, tools }: { isolation: unknown; tools: string[] }): void {
  if (brief.repository || brief.workspace !== undefined || brief.fixture !== undefined) return;
  if (!isolation && !tools.some((tool) => fileTools.includes(tool))) return;
  const advice = 'name a `repository`, or a `workspace` that the worker shares, or allow the run no such tools';
  throw new RetinueError('invalid_brief', `this run has tools for files, but a worker has no files for it: ${advice}`);
}

async function prepareFiles(run: Run, source: WorkspaceSource, services: Services): Promise<void> {
  const { checkouts, store } = services;
  if (!checkouts) throw new RetinueError('workspace', 'checkouts and worktrees are not available in this process');
  const { id: runId, rootId, state, brief, grant } = run;
  const signal = run.signal.toAbortSignal();
  const previous = state.files?.prepared ?? null;
  const saved = await loadSaved(state, store);
  const attached = (brief.files ?? []).filter((path) => path.startsWith('.retinue-files/'));
  const request: CheckoutRequest = { runId, rootId, source, previous, saved, attached: { from: grant.workspace, paths: attached }, signal };
  const prepared = await checkouts.prepare(request);
  run.ownFiles = prepared;
  if (previous === null && brief.continues !== undefined && prepared.data.base !== null)
    prepared.data.notices = [...prepared.data.notices, ...(await takeOverChanges(brief.continues, prepared, services))];
  const isChanged = previous === null || !prepared.isKept || previous.path !== prepared.data.path;
  if (!isChanged) return;
  const isLost = previous !== null && !prepared.isKept && state.files?.isSaved === false;
  const drafts: Draft[] = [{ type: 'workspace.prepared', data: prepared.data }];
  if (previous !== null) drafts.push({ type: 'message.received', data: { from: 'the runtime', text: describeMove(prepared, isLost) } });
  await run.record(drafts);
}

function describeMove({ data }: PreparedWorkspace, isLost: boolean): string {
  const moved = `Your work continues in another process. The workspace is now ${data.path}.`;
  if (!isLost) return moved;
  const start = data.commit === null ? 'as it was at the beginning' : `at commit ${data.commit}`;
  return `${moved} Changes to files that were not saved before the interruption are lost: the workspace is ${start}, with the changes that were saved. Look at the files before you continue.`;
}

/** A run that continues another one begins with what that one changed, merged into its own files. Returns notices. */
async function takeOverChanges(runId: string, { data }: PreparedWorkspace, { checkouts, store }: Services): Promise<string[]> {
  const owner = await findOwner(await loadState(runId, store), store);
  const set = owner && (await loadSaved(owner, store))?.set;
  if (!checkouts || !owner || !set) return [];
  const read = (hash: string) => store.blob(hash);
  const plan = await checkouts.changes.plan({ workspace: data.path, changes: [{ runId: owner.runId, set }], read, refuse: () => null });
  const contents = new Map(plan.blobs.map(({ hash, content }) => [hash, content]));
  const left = await checkouts.changes.carryOut(data.path, plan.set, { read: async (hash) => contents.get(hash) ?? null, key: data.path });
  const paths = [...plan.conflicts.flatMap((conflict) => conflict.paths.map(({ path }) => path)), ...left];
  return paths.length === 0 ? [] : [`the changes of run ${owner.runId} do not fit into the files any more: ${paths.join(', ')}`];
}

/** The run whose files a run used: itself, or the nearest one above it. */
async function findOwner(state: RunState, store: Store): Promise<RunState | null> {
  if (state.files) return state;
  const { parentId } = state.created.data;
  return parentId === null ? null : findOwner(await loadState(parentId, store), store);
}

async function loadSaved({ files }: RunState, store: Store): Promise<CheckoutRequest['saved']> {
  const hash = files?.saved?.changes ?? null;
  const text = hash === null ? null : await store.blob(hash);
  if (text === null) return null;
  const set = ChangeSet.parse(JSON.parse(typeof text === 'string' ? text : Buffer.from(text).toString('utf8')));
  return { set, read: (each) => store.blob(each) };
}

/** What has to be recorded of the run's files before they may be deleted. */
export interface WorkspaceEnd {
  drafts: Draft[];
  blobs: StoredBlob[];
  /** Deletes the files. To be called when the facts are durable. */
  remove(): Promise<void>;
}

const nothingToSave: WorkspaceEnd = { drafts: [], blobs: [], remove: async () => {} };

/** Collects what the run changed in its own files. Never rejects. */
export async function saveWorkspace(
  run: Pick<Run, 'id' | 'state' | 'ownFiles'>,
  { checkouts, redact }: Pick<Services, 'checkouts' | 'redact'>,
): Promise<WorkspaceEnd> {
  const recorded = run.state.files?.prepared;
  const files = run.ownFiles ?? (recorded && checkouts ? await checkouts.find(run.id, recorded) : null);
  if (!checkouts || !files || !recorded) return nothingToSave;
  const remove = () => checkouts.remove(run.id, files);
  if (files.data.base === null) return { ...nothingToSave, remove };
  const saved = await checkouts.save(run.id, files);
  const data: FactData['workspace.saved'] = { ...saved.data, ...createArtifact(saved, redact) };
  const drafts: Draft[] = [{ type: 'workspace.saved', data }];
  return { drafts, blobs: saved.blobs, remove: data.left === undefined ? remove : nothingToSave.remove };
}

const maxLines = 100;

/** The changed files, as the outcome lists them. `retinue diff` shows the patch itself. */
function createArtifact({ lines, patchBytes }: SavedWorkspace, redact: Redact): { artifact?: Artifact } {
  if (lines.length === 0) return {};
  const toLine = ({ path, added, removed, mode }: SavedWorkspace['lines'][number]) =>
    `${path} ${mode === undefined ? (added === null ? 'binary' : `+${added} -${removed}`) : `mode ${mode}`}`;
  const more = lines.length > maxLines ? [`and ${lines.length - maxLines} more`] : [];
  const value = redact([...lines.slice(0, maxLines).map(toLine), ...more].join('\n').toWellFormed(), true);
  return { artifact: { bytes: patchBytes, kind: 'diff', title: 'patch', value } };
}
