// The interface that all front-ends (command line, library, MCP) use. Its implementation is composed in `create.ts`.
import type { Agent } from '../contract/agent.ts';
import type { BudgetDefinition, BudgetState } from '../contract/budget.ts';
import type { Delta } from '../contract/delta.ts';
import type { ErasedFact, Fact, StoredFact } from '../contract/fact.ts';
import type { FileChange, FlowStartRequest } from '../contract/http.ts';
import type { Json } from '../contract/json.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { CostRow, Question, RunDetail, RunView, SearchHit, TreeList, TreeQuery, TreeSnapshot } from '../contract/view.ts';
import type { ResumeOptions } from '../kernel/recovery/resume.ts';
import type {
  BriefOptions,
  ClientRunOptions,
  EnqueueOptions,
  EnqueueResult,
  FlowOptions,
  RunHandle,
  RuntimeClient,
} from '../kernel/runtime.ts';
import type { FileProblem } from '../kernel/workspace.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { FlowProgram } from '../ports/flow.ts';
import type { QueueState, Schedule, StoredSchedule, WorkerState } from '../ports/queue.ts';
import type { EraseReport, EraseSize } from '../records/erase.ts';
import type { TreeExport } from '../records/export-tree.ts';
import type { Fork } from '../records/fork.ts';
import type { ImportResult } from '../records/import-tree.ts';
import type { ReplayResult } from '../records/replay.ts';
import type { VerifyResult } from '../records/verify.ts';

import type { Apply } from './apply.ts';
import type { InterruptedPlan } from './interrupted-plans.ts';
import type { LeftFolder } from './leftovers.ts';

export type { Question, RunDetail, RunView } from '../contract/view.ts';
export type { ApplyReport } from '../kernel/delegation/apply.ts';
export type { RunHandle } from '../kernel/runtime.ts';

/** Live events of this process: facts once they are durable, and deltas. */
export type LiveEvent = Fact | Delta;

/**
 * An event of any process. `reset`: the reader's cursor is of no use, because it is unknown or too old. The reader reloads what it shows and
 * gets the facts after `position` next.
 */
export type StreamEvent = StoredFact | Delta | { type: 'reset'; position: string };

export interface StreamOptions {
  /** A run; only the events of its tree. */
  tree?: string;
  /** Only facts after this position. Default: the tree from its first fact; without a tree, facts from now on. */
  after?: string;
  signal: AbortSignal;
}

/** `asked`: its process has recorded the request. `ended`: no process drove it, so it was ended here. `already`: it had ended before. */
export interface Cancelled {
  runId: string;
  result: 'asked' | 'ended' | 'already';
}

export interface EventOptions {
  /** Only events after the fact at this position. */
  after?: string;
  /** Also events of descendants. */
  tree?: boolean;
  signal?: AbortSignal;
}

/** A tree that no living process drives. Trees of a queue are none: workers continue them. */
export interface Interrupted {
  rootId: string;
  kind: RunRow['kind'];
  label: string | null;
  agent: string | null;
  /** The dialect of its delegation tools. */
  dialect: string;
  /** Runs of it that have not ended. */
  open: number;
}

/** The server behind an API. */
export interface RemoteServer {
  /** Its address. */
  url: string;
  /** Calls the listener when events stop coming because the connection was lost, and when they come again. Returns a function that removes it. */
  watchConnection(listener: (change: { isConnected: boolean; reason: string }) => void): () => void;
}

/** Bad input rejects with a RetinueError that says what to do. */
export interface Api {
  /** The server whose runs these are; absent if they are runs of this machine. */
  server?: RemoteServer;
  /** The queue that clients delegate to; absent if what they delegate runs in this process. */
  clientQueue?: string;
  /** The configured limits. Absent if they are not known here. */
  limits?: LimitsGiven;
  /** Admits the brief and starts a root run in this process. Rejects with the refusal if it is not admitted. */
  start(brief: unknown, options?: BriefOptions): Promise<RunHandle>;
  /** Admits the brief and leaves it to a worker. Rejects with the refusal if it is not admitted, and with `usage` if the database has no queue. */
  enqueue(brief: unknown, options: EnqueueOptions): Promise<EnqueueResult>;
  /** The queues of the database and the workers that take trees from them. Rejects with `usage` if it has no queue. */
  queues(): Promise<{ queued: number; running: number; queues: QueueState[]; workers: WorkerState[] }>;
  /** By name. Rejects with `usage` if the database has no queue. */
  schedules(): Promise<StoredSchedule[]>;
  /** Adds a schedule, or replaces the one of this name. Rejects with `usage` and `invalid_brief`. */
  putSchedule(schedule: Omit<Schedule, 'name'> & { name?: string | undefined }): Promise<StoredSchedule>;
  /** False if there is none. */
  removeSchedule(name: string): Promise<boolean>;
  /** The shared budgets of the database, by name. What dead processes had reserved is returned first. */
  budgets(): Promise<BudgetState[]>;
  /** Defines a shared budget or changes it. */
  setBudget(definition: BudgetDefinition): Promise<void>;
  /** False if there is no such budget. */
  removeBudget(name: string): Promise<boolean>;
  /** Stops driving one tree of this process, so that another process can continue it. */
  handBack(rootId: string, reason: string): Promise<void>;
  /** Why this process cannot provide the files of a tree that nothing drives, although another one may, or this one later. Null if it can. */
  findFileProblem(rootId: string, signal: AbortSignal): Promise<FileProblem | null>;
  /** Advice for a brief that has no model to run it; null if it has one. */
  advise(brief: { model?: string | undefined; agent?: string | undefined }): Promise<string | null>;
  /** Resolves an id, a unique prefix of one, or `last`. */
  find(id: string): Promise<string>;
  /** Newest first. `roots`: only runs without a parent. `before`: only runs created before this one. */
  ps(options: { all: boolean; roots?: boolean; limit?: number; before?: string }): Promise<RunView[]>;
  /** Trees by their roots, newest first. One call may look at only a part of them; `next` continues. */
  trees(query: TreeQuery): Promise<TreeList>;
  /** All runs of the tree that a run belongs to, as they are now. Rejects with `erased` for an erased tree. */
  tree(id: string): Promise<TreeSnapshot>;
  /** The root run that was started with this idempotency key; null if there is none. */
  keyed(key: string): Promise<RunView | null>;
  /** Root runs whose idempotency key begins with `prefix`, newest first. One call may look at only a part of them; `next` continues as `before`. */
  keyedRoots(query: {
    prefix: string;
    limit: number;
    before?: string;
  }): Promise<{ roots: { key: string; run: RunView }[]; next: string | null }>;
  show(id: string): Promise<RunDetail>;
  /** `tree`: with all descendants. `after`: only facts after this position. `limit`: only so many of them. For an erased run: what remains. */
  logs(id: string, options?: { tree?: boolean; after?: string; limit?: number }): Promise<(StoredFact | ErasedFact)[]>;
  /** What a run and its descendants changed in files. */
  changes(id: string): Promise<FileChange[]>;
  /** What a run with files of its own changed, as the exact bytes of a patch for git; null if there is nothing. */
  patch(id: string): Promise<Uint8Array | null>;
  /**
   * Merges what runs changed in files of their own into the files of the workspace, in this order. A conflict leaves out that run alone. Rejects with `usage` if a run
   * has nothing to apply.
   */
  apply: Apply['apply'];
  /** Takes back what was applied from these runs and what they wrote with file tools, where nothing has changed it since. */
  undo: Apply['undo'];
  discard: Apply['discard'];
  /** Folders with files of runs on this machine. `remove`: deletes those whose changes are stored, and returns them. */
  leftFolders(options: { remove: boolean }): Promise<LeftFolder[]>;
  /** Changes of files that a killed process was making. `repair`: completes those that belong to no tree of others, and removes temporary files. */
  interruptedPlans(options: { repair: boolean }): Promise<InterruptedPlan[]>;
  /** Facts from the first on, as they are recorded by any process; ends with the run. */
  follow(id: string, options: { tree?: boolean; signal: AbortSignal }): AsyncIterable<StoredFact>;
  /**
   * Facts as any process records them, in order and without gaps, and deltas while they stream; does not end with a run. Deltas are dropped if the
   * reader is slow. Ends when the signal fires.
   */
  stream(options: StreamOptions): AsyncIterable<StreamEvent>;
  /** The position of the newest fact of all trees. */
  position(): Promise<string>;
  /** Facts that contain the text, newest first. */
  search(text: string, options: { limit: number; signal?: AbortSignal }): Promise<SearchHit[]>;
  /** What all runs used, by day, agent and model. */
  costs(): Promise<CostRow[]>;
  /** How many runs ended with each status. */
  countEnded(): Promise<Record<string, number>>;
  /** Resolves when all (or any) of the runs have ended, or when the signal fires; unended runs are null. Rejects with `erased` for an erased run. */
  wait(ids: string[], options: { any: boolean; signal: AbortSignal }): Promise<(Outcome | null)[]>;
  /** Oldest first. */
  interrupted(): Promise<Interrupted[]>;
  /**
   * Continues an interrupted tree in this process and returns its runs, the root first. Rejects with `fenced` if another process drives it, and
   * with `unknown_dialect` if its dialect is not available.
   */
  resume(rootId: string, options?: ResumeOptions & { by?: string }): Promise<RunHandle[]>;
  /** Pauses live runs and their descendants at their next steps; resolves when nothing of them runs. `already`: it was paused, has ended, or no process drives it. */
  pause(ids: string[], reason: string): Promise<{ runId: string; result: 'paused' | 'already' }[]>;
  /**
   * Ends the pauses of a run that a process drives and of its descendants, or withdraws those that have not begun. False if it was not paused. A worker
   * takes a tree of a queue that no process drives, and ends them then; the answer does not wait for it.
   */
  release(id: string): Promise<boolean>;
  /** Leaves what this process drives for another one to continue. */
  drain(reason: string): Promise<void>;
  cancel(ids: string[], reason: string): Promise<Cancelled[]>;
  /**
   * Sends a message to a live run of any process; a finished run gets a follow-up, as a new run of this process. `kept`: the process of the run died before
   * it read the message; the run reads it when it is resumed, so do not send it again.
   */
  message(
    id: string,
    text: string,
    /**
     * `rules` narrow the run and its descendants from now on. `followUp: false`: rejects with `parent_ended` if the run has ended. `trace`: of the
     * caller, for a follow-up.
     */
    options?: { rules?: string[]; followUp?: boolean } & Pick<BriefOptions, 'trace'>,
  ): Promise<{ kind: 'sent' | 'kept' } | { kind: 'continued'; handle: RunHandle }>;
  /**
   * Replaces the conversation of a live run by a summary before its next turn. `kept`: no process drives the run; it is compacted when it is resumed. Rejects
   * with `parent_ended` if it has ended, and with `usage` if it cannot be compacted.
   */
  compact(id: string): Promise<{ runId: string; result: 'asked' | 'kept' }>;
  /** Calls of live runs, of any process, that wait for approval; oldest first. */
  questions(): Promise<Question[]>;
  /** An open question, by its id or by the id of a run with exactly one. Rejects with `unknown_run`, `ambiguous_id` or `usage`. */
  question(id: string): Promise<Question>;
  /**
   * Answers a question, by its id or by the id of a run with exactly one question. `kept`: no process drives the run; the answer takes effect when
   * it is resumed. `late`: it had been answered otherwise, had expired, or its run has ended. `denial`: the
   * call was approved, but rules that the run got since it asked deny it.
   */
  answer(
    id: string,
    answer: { allowed: boolean; always?: boolean; reason?: string; by?: string },
  ): Promise<{ question: Question; result: 'answered' | 'kept' | 'late'; denial?: string }>;
  /** Starts a run from a recorded turn of another run. Rejects with `not_continuable` if there is no such turn or it is not over. */
  fork(id: string, fork: Fork, options?: Pick<BriefOptions, 'trace'>): Promise<RunHandle>;
  /** Replays a run and its descendants, the run first. Rejects with `erased` for an erased run. */
  replay(id: string, options?: { signal?: AbortSignal }): Promise<ReplayResult[]>;
  /** Verifies the tree of a run, or all trees. */
  verify(id?: string, options?: { signal?: AbortSignal }): Promise<VerifyResult>;
  /**
   * Exports the tree of a run. Rejects with `live_tree` while a living process drives it, unless `live`: then everything recorded so far is
   * exported. Rejects with `erased` for an erased tree.
   */
  export(id: string, options: { live: boolean }): Promise<TreeExport>;
  /** Imports a tree, all or nothing. Rejects with `invalid_import`. `unfinished` accepts a tree that has not ended. */
  import(lines: AsyncIterable<string>, options?: { unfinished: boolean }): Promise<ImportResult>;
  /** What erasing the trees of these roots would remove. Rejects like `erase`. */
  weigh(ids: string[]): Promise<EraseSize>;
  /** Erases whole trees. Rejects with `live_tree` if one has not ended, and with `usage` for a run that is not a root; then nothing is erased. */
  erase(ids: string[]): Promise<EraseReport>;
  /** Roots of trees that ended before this moment and were not erased yet, oldest first. */
  endedBefore(at: string): Promise<string[]>;
  agents(): Agent[];
  /** Facts and deltas of a run. Ends with the run. */
  events(id: string, options?: EventOptions): AsyncIterable<StoredFact | Delta>;
  /** The default dialect, for front-ends that offer its tools. */
  dialect: Dialect;
  /** Opens a client: a root run without a model, for a program that delegates from outside. */
  client(options?: ClientRunOptions & { queue?: string }): Promise<RuntimeClient>;
  /** Starts a flow in this process, as a root run. Rejects with `invalid_brief` if the input does not match its schema. */
  flow(program: FlowProgram, input: Json, options?: FlowOptions): Promise<RunHandle>;
  /** Starts a flow of the workspace, by the name of its trusted file. Rejects with `usage` if there is none, and like `flow`. */
  namedFlow(request: FlowStartRequest, options?: Pick<FlowOptions, 'trace'>): Promise<RunHandle>;
  /** Live events of this process. A listener that throws is removed. Without `deltas` it gets facts only, and models may answer in one piece. */
  watch(listener: (event: LiveEvent) => void, options?: { deltas?: boolean }): () => void;
  /** Cancels the runs of this process, waits for them, and closes the store. A second call waits for the first. */
  close(): Promise<void>;
}
