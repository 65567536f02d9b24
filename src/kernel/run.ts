// A run while this process drives it: its position in the tree, its abort signal, its budget and slot. Recorded data is read from `state`, never
// copied. New, client and resumed runs are built the same way: from a state that has at least `run.created`.
import type { Agent } from '../contract/agent.ts';
import type { Brief } from '../contract/brief.ts';
import type { RetinueError } from '../contract/error.ts';
import type { Draft } from '../contract/fact.ts';
import type { Grant } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { CallState } from '../conversation/request.ts';
import type { PreparedWorkspace } from '../ports/checkouts.ts';
import type { Clock } from '../ports/clock.ts';
import type { FlowProgram } from '../ports/flow.ts';
import type { ModelHandle } from '../ports/model.ts';
import type { ProgramCheck } from '../ports/schema.ts';
import { Stop } from '../ports/stop.ts';
import type { AnyTool } from '../ports/tool.ts';
import { isCostSetByHand } from '../rules/limits.ts';
import { type Budget, createBudget } from '../scheduling/budget.ts';
import type { Deadlines } from '../scheduling/deadlines.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import type { SharedBudget } from '../scheduling/shared-budget.ts';
import { createSlotKeeper, type SlotKeeper } from '../scheduling/slot.ts';
import { msToIso } from '../text/instant.ts';
import type { DialectServices } from './delegation/dialect-services.ts';
import type { StepState } from './flow/state.ts';
import type { Journal, RecordOptions } from './journal.ts';
import { deadlineOf, type RunState } from './state/state.ts';

/** Why a run is stopped from outside. The first cause wins. */
export type StopCause =
  | { code: 'cancelled' | 'client_gone' | 'deadline'; message: string }
  /** This process stops driving the run; another process continues it. */
  | { code: 'paused'; message: string }
  /** The tree can no longer be written: the run stops without a further fact. */
  | { code: 'lost'; message: string; error: RetinueError };

/** A pause that was asked for and is not recorded yet. `orders` are consumed with its fact. */
export interface PendingPause {
  reason: string;
  resumeAt: string | null;
  /** The shared budget that is used up. */
  budget?: string | undefined;
  orders: string[];
}

/** The live objects of an agent's run: model, tools, result check. */
export interface ModelWork {
  agent: Agent;
  model: ModelHandle;
  /** Models to fall back to, in order. */
  fallbacks: string[];
  /** Every tool that existed at admission; the grant says which of them are offered. */
  tools: ReadonlyMap<string, AnyTool>;
  /** Checks a submitted result, if the brief wants one. */
  check: ProgramCheck | null;
}

/**
 * The runs of a tree, or of one delegation of a client or a flow; `outer` counts all delegations of that client or flow. A limit that was set for it
 * applies to them together.
 */
export interface RunCounter {
  runs: number;
  outer: RunCounter | null;
  /** Only of an outer counter. */
  max: number | null;
}

export function createCounter(run: Pick<Run, 'work' | 'grant'> | null, parent: Run | null): RunCounter {
  if (parent?.work) return parent.counter;
  const limit = run && run.work === null ? run.grant.limits.maxRuns : null;
  return { runs: 0, outer: parent?.counter ?? null, max: limit?.from === 'command' ? limit.value : null };
}

export function countRun({ counter }: Pick<Run, 'counter'>, by: 1 | -1): void {
  for (let each: RunCounter | null = counter; each; each = each.outer) each.runs += by;
}

export interface RunOptions {
  state: RunState;
  parent: Run | null;
  dialect: DialectServices;
  /** Null for a client or a flow, which have no model. */
  work: ModelWork | null;
  program?: FlowProgram | null;
}

export interface RunDeps {
  journal: Journal;
  scheduler: Scheduler;
  clock: Clock;
  deadlines: Deadlines;
  /** The run's part of the shared budgets that its grant names; null if it names none. */
  shareBudgets(state: RunState): SharedBudget | null;
}

// Shared by all runs: thousands of them may wait for a slot.
const noop = () => {};
const atOnce = Promise.resolve();

export class Run {
  readonly id: string;
  readonly rootId: string;
  readonly depth: number;
  readonly parent: Run | null;
  readonly state: RunState;
  readonly dialect: DialectServices;
  readonly work: ModelWork | null;
  /** The program of a flow. */
  readonly program: FlowProgram | null;
  /** Counts runs for `maxRuns`. */
  readonly counter: RunCounter;
  readonly budget: Budget;
  /** Whether `budget` has to be closed. */
  readonly sharesBudget: boolean;
  readonly slot: SlotKeeper;
  /** Whether the cost limit was set by hand and is not the built-in one. */
  readonly hasExplicitCostLimit: boolean;
  /** Briefs on their way to becoming children. */
  admittingCount = 0;
  /** The end of the last message to a child. Messages are sent one after another. */
  lastMessage: Promise<unknown> = atOnce;
  /** The deadline on the wall clock, as recorded. */
  notAfter: string | null;
  /** The deadline that is enforced, on the monotonic clock; null until the run starts, infinite while it is suspended. */
  deadline: number | null = null;
  pauseRequest: PendingPause | null = null;
  /** A compaction that was ordered and has not begun. The orders are consumed with its first fact. */
  compactRequest: { orders: string[] } | null = null;
  /** Its own files as this process prepared them; null if it uses those of its parent. */
  ownFiles: PreparedWorkspace | null = null;
  /** Resolves when its files and those of its ancestors are prepared (`ensureWorkspace`). */
  preparing: Promise<void> | null = null;
  /** Fires when the run is stopped from outside, with the cause. */
  readonly signal = new Stop();
  /** Ending: accepts no more children or messages. */
  isClosing = false;
  readonly ended: Promise<Outcome>;
  readonly settle: { resolve(outcome: Outcome): void; reject(error: unknown): void };
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  #timer: { from: number; earlierMs: number } | null = null;
  #clearDeadline: () => void = noop;
  /** The time that was left when the deadline was suspended. */
  #suspendedMs: number | null = null;
  /** Null while nothing waits for a change. */
  #change: PromiseWithResolvers<void> | null = null;
  // Made at the first use: thousands of runs may wait for a slot.
  #children: Set<Run> | null = null;
  #endedRows: Map<string, RunRow> | null = null;
  #originals: Map<string, Json> | null = null;
  #begun: Set<CallState | StepState> | null = null;
  #foldersSeen: Set<string> | null = null;
  #isDetached = false;

  constructor(
    { state, parent, dialect, work, program = null }: RunOptions,
    { journal, scheduler, clock, deadlines, shareBudgets }: RunDeps,
  ) {
    const { rootId, depth, grant } = state.created.data;
    const { maxTokens, maxCostUsd } = grant.limits;
    this.id = state.runId;
    this.rootId = rootId;
    this.depth = depth;
    this.parent = parent;
    this.state = state;
    this.dialect = dialect;
    this.work = work;
    this.program = program;
    this.#journal = journal;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.counter = createCounter(this, parent);
    this.hasExplicitCostLimit = work ? isCostSetByHand(grant.limits, parent?.hasExplicitCostLimit ?? false) : maxCostUsd.value !== null;
    const limit = { maxTokens: maxTokens.value, maxCostUsd: maxCostUsd.value };
    const shared = shareBudgets(state);
    this.budget = parent ? parent.budget.child(limit, shared) : createBudget(limit, shared);
    this.sharesBudget = shared !== null;
    this.budget.charge({ tokens: state.tokens.input + state.tokens.output, costUsd: state.costUsd ?? 0 });
    this.notAfter = deadlineOf(state) ?? grant.notAfter;
    const maxSiblings = parent ? (parent.grant.limits.maxConcurrent.value ?? Number.MAX_SAFE_INTEGER) : 1;
    this.slot = createSlotKeeper(scheduler, { rootId, parentId: parent?.id ?? null, limit: maxSiblings, signal: this.signal });
    this.settle = Promise.withResolvers<Outcome>();
    this.ended = (this.settle as PromiseWithResolvers<Outcome>).promise;
    this.ended.catch(noop);
    if (parent?.signal.aborted) this.stop(parent.stopCause as StopCause);
  }

  get children(): Set<Run> {
    this.#children ??= new Set();
    return this.#children;
  }

  /** Rows of children that have ended. */
  get endedRows(): Map<string, RunRow> {
    this.#endedRows ??= new Map();
    return this.#endedRows;
  }

  /** Arguments that held secrets, as the model wrote them, by `callName`; facts have the redacted ones. Never stored (invariant 11). */
  get originals(): Map<string, Json> {
    this.#originals ??= new Map();
    return this.#originals;
  }

  /** Tool calls, and steps of a flow, that this process has begun. */
  get begun(): Set<CallState | StepState> {
    this.#begun ??= new Set();
    return this.#begun;
  }

  /** Folders whose rules this process has looked for. */
  get foldersSeen(): Set<string> {
    this.#foldersSeen ??= new Set();
    return this.#foldersSeen;
  }

  get brief(): Brief {
    return this.state.created.data.brief;
  }

  get grant(): Grant {
    return this.state.created.data.grant;
  }

  /** The files that it works on, if they are not those of the workspace it was granted. */
  get files(): PreparedWorkspace | null {
    return this.ownFiles ?? this.parent?.files ?? null;
  }

  /** The folder that its tools may use. */
  get workspace(): string {
    return this.files?.data.path ?? this.grant.workspace;
  }

  get stopCause(): StopCause | null {
    return (this.signal.reason as StopCause | undefined) ?? null;
  }

  /** Children that have not ended, those being admitted included. */
  get openChildren(): number {
    return this.state.openChildren + this.admittingCount;
  }

  stop(cause: StopCause): void {
    if (this.signal.aborted) return;
    this.signal.abort(cause);
    this.slot.stop();
    this.notify();
    for (const child of this.#children ?? []) if (!child.#isDetached) child.stop(cause);
  }

  /** Wakes all waits in `waitForChange`. */
  notify(): void {
    this.#change?.resolve();
    this.#change = null;
  }

  /** Resolves at the next `notify`, at once if the run was stopped. */
  waitForChange(): Promise<void> {
    if (this.signal.aborted) return Promise.resolve();
    this.#change ??= Promise.withResolvers();
    return this.#change.promise;
  }

  /** Stops the run at this time of the monotonic clock. */
  setDeadline(due: number): void {
    this.#clearDeadline();
    this.deadline = due;
    const stop = () => this.stop({ code: 'deadline', message: 'the deadline passed' });
    this.#clearDeadline = due === Number.POSITIVE_INFINITY ? noop : this.#deadlines.at(due, stop);
  }

  clearDeadline(): void {
    this.#clearDeadline();
    this.#suspendedMs = null;
  }

  /** Stops the time until the deadline, for a pause that does not count. */
  suspendDeadline(): void {
    if (this.deadline === null || this.#suspendedMs !== null) return;
    this.#suspendedMs = this.deadline - this.#clock.monotonic();
    this.setDeadline(Number.POSITIVE_INFINITY);
  }

  continueDeadline(): void {
    const left = this.#suspendedMs;
    this.#suspendedMs = null;
    if (left === null || this.isClosing) return;
    this.setDeadline(this.#clock.monotonic() + left);
    if (left !== Number.POSITIVE_INFINITY) this.notAfter = msToIso(this.#clock.now() + left);
  }

  /** Starts measuring the run's duration, after `earlierMs` in other processes. */
  startTimer(clock: Clock, earlierMs: number): void {
    this.#timer = { from: clock.monotonic(), earlierMs };
  }

  /** How long the run has taken, unaffected by jumps of the wall clock; null if this process has not started it. */
  measureDuration(clock: Clock): number | null {
    return this.#timer && Math.round(Math.max(0, this.#timer.earlierMs) + clock.monotonic() - this.#timer.from);
  }

  /** Is no longer stopped with the parent. */
  detachFromParent(): void {
    this.#isDetached = true;
  }

  /** Records facts of this run; see `Journal.record`. */
  record(drafts: Draft[], options?: RecordOptions): Promise<void> {
    return this.#journal.record(this.rootId, [{ runId: this.id, drafts }], options);
  }
}
