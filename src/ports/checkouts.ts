// Files of a run's own: a checkout of a repository, or a copy of another folder.
import type { ChangeSet, ChangeStep } from '../contract/change-set.ts';
import type { FactData } from '../contract/fact.ts';
import type { Repository } from '../contract/repository.ts';
import type { RunFolders } from './run-folders.ts';
import type { BlobContent, StoredBlob } from './store.ts';

/**
 * Where the files of a run come from. `commit`: of a repository. `folder`: the files of another folder as they are now. `directory`: that folder
 * itself, if this process allows it. `none`: the run has no tools for files.
 */
export type WorkspaceSource =
  | { kind: 'commit'; repository: Repository }
  /** `isAlone`: without the repository around it. */
  | { kind: 'folder'; path: string; isAlone?: boolean }
  | { kind: 'directory'; path: string }
  | { kind: 'none' };

export interface CheckoutRequest {
  runId: string;
  rootId: string;
  source: WorkspaceSource;
  /** What an earlier process recorded for this run; null if none did. */
  previous: FactData['workspace.prepared'] | null;
  /** The changes that were saved last, with their contents; null if none were. */
  saved: { set: ChangeSet; read(hash: string): Promise<BlobContent | null> } | null;
  /** Files that were given with the brief and are ignored by git: paths in the folder `from`. */
  attached: { from: string; paths: readonly string[] };
  signal: AbortSignal;
}

/** A folder that a sandbox shows read-only at another path of the workspace. */
export interface WorkspaceMount {
  source: string;
  /** Relative to the workspace. */
  path: string;
}

/** The files of a run in this process. */
export interface PreparedWorkspace {
  data: FactData['workspace.prepared'];
  /** Folders with objects that the run's own repository borrows. A sandbox shows them read-only. */
  objects: readonly string[];
  mounts: readonly WorkspaceMount[];
  /** Whether the files are as an earlier process of this run left them. False: they are new, with the saved changes. */
  isKept: boolean;
}

export interface SavedWorkspace {
  data: Omit<FactData['workspace.saved'], 'artifact'>;
  /** Changed files with the number of added and removed lines, for readers; null for binary files. `mode`: only the mode has changed, to this one. */
  lines: { path: string; added: number | null; removed: number | null; mode?: string }[];
  patchBytes: number;
  blobs: StoredBlob[];
}

/**
 * Failure contract: `prepare` rejects with a RetinueError `workspace` that says what to do, and leaves nothing behind that it would not find again.
 * `save` and `remove` never reject: what cannot be stored stays on disk, and a notice says where.
 */
export interface Checkouts extends RunFolders {
  /** Whether the roots of this process get a workspace from here: their own folder may be one of another machine. */
  readonly placesRoots: boolean;
  prepare(request: CheckoutRequest): Promise<PreparedWorkspace>;
  /**
   * Why `prepare` would fail here and now although it may succeed later, or on another machine: the folder is not shared, git is missing, or the repository
   * cannot be fetched. Null if it would not. Never rejects.
   */
  findProblem(request: Pick<CheckoutRequest, 'runId' | 'rootId' | 'source' | 'previous' | 'signal'>): Promise<string | null>;
  /** What an earlier process of this run left on this machine; null if nothing is left. Never rejects. */
  find(runId: string, data: FactData['workspace.prepared']): Promise<PreparedWorkspace | null>;
  /** What has changed since the beginning. Changes nothing. */
  save(runId: string, prepared: PreparedWorkspace): Promise<SavedWorkspace>;
  /** For changes to files of a workspace. */
  readonly changes: ChangeFiles;
  /** Deletes a checkout or copy whose changes are stored. */
  remove(runId: string, prepared: PreparedWorkspace): Promise<void>;
}

/** The changes of one run, to be merged. */
export interface ChangesOfRun {
  runId: string;
  set: ChangeSet;
}

/** Why a path cannot take over a change. */
export interface PathConflict {
  path: string;
  reason: string;
}

/** What has to be done to the files of a workspace. */
export interface ChangePlan {
  set: ChangeSet;
  /** The same by run, in order. Runs that change nothing any more are left out. */
  steps: ChangeStep[];
  /** Contents before and after each step. */
  blobs: StoredBlob[];
  /** The runs whose changes are part of the plan, or are in the files already. */
  merged: string[];
  conflicts: { runId: string; paths: PathConflict[] }[];
}

export interface PlanRequest {
  workspace: string;
  /** In this order, each merged on the ones before. */
  changes: ChangesOfRun[];
  read(hash: string): Promise<BlobContent | null>;
  /** Why a path may not be changed; null if it may. */
  refuse(path: string): string | null;
  /** Nothing is merged: paths that are not as before are conflicts, and the others are taken over without them. */
  isExact?: boolean;
  signal?: AbortSignal | undefined;
}

export interface CarryOutOptions {
  read: PlanRequest['read'];
  /** Identifies the plan. The names of temporary files come from it. */
  key: string;
}

/**
 * Makes recorded changes to the files of a workspace. Failure contract: `plan` changes nothing and rejects with a RetinueError `workspace`. `carryOut` may be called
 * again after a crash; it rejects with system errors, such as a full disk, and can then be called again too. Some paths are changed then.
 */
export interface ChangeFiles {
  plan(request: PlanRequest): Promise<ChangePlan>;
  /** Makes the changes path by path. Returns the paths that are neither as before nor as after: they are left alone. */
  carryOut(workspace: string, set: ChangeSet, options: CarryOutOptions): Promise<string[]>;
  /** The paths that are not as after the changes. */
  findUnmade(workspace: string, set: ChangeSet): Promise<string[]>;
  /** Temporary files that a killed process left, as paths in the workspace. `remove`: deletes them. Never rejects. */
  findTemporary(workspace: string, set: ChangeSet, options: { key: string; remove: boolean }): Promise<string[]>;
}
