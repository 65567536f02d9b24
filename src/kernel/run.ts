// A run while this process drives it: its position in the tree, its abort signal, its budget and slot. Recorded data is read from `state`, never
// copied. New, client and resumed runs are built the same way: from a state that has at least `run.created`.
import type { Agent } from '../contract/agent.ts';
import type { Brief } from '../contract/brief.ts';
import type { RetinueError } from '../contract/error.ts';
import type { Draft } from '../contract/fact.ts';
import type { Grant, Ruleset } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { AlwaysAllowed } from '../conversation/tool-calls.ts';
import type { Clock } from '../ports/clock.ts';
import type { ModelHandle } from '../ports/model.ts';
import type { ResultCheck } from '../ports/schema.ts';
import type { AnyTool } from '../ports/tool.ts';
import { isCostSetByHand } from '../rules/limits.ts';
import { type Budget, createBudget } from '../scheduling/budget.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import { createSlotKeeper, type SlotKeeper } from '../scheduling/slot.ts';
import type { DialectServices } from './dialect-services.ts';
import type { Journal, RecordOptions } from './journal.ts';
import type { Ending } from './outcome.ts';
import { type RunState, startedFact } from './state.ts';

/** Why a run is stopped from outside. The first cause wins. */
export type StopCause =
  | { code: 'cancelled' | 'client_gone' | 'deadline'; message: string }
  /** This process stops driving the run; another process continues it. */
  | { code: 'paused'; message: string }
  /** The tree can no longer be written: the run stops without a further fact. */
  | { code: 'lost'; message: string; error: RetinueError };

/** A pause that was asked for and is not recorded yet. `orders` are consumed with its fact. */
export interface PauseRequest {
  reason: string;
  resumeAt: string | null;
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
  check: ResultCheck | null;
}

export interface RunOptions {
  state: RunState;
  parent: Run | null;
  dialect: DialectServices;
  /** Null for a client, which has no model. */
  work: ModelWork | null;
}

export interface RunDeps {
  journal: Journal;
  scheduler: Scheduler;
}

export class Run {
  readonly id: string;
  readonly rootId: string;
  readonly depth: number;
  readonly parent: Run | null;
  readonly state: RunState;
  readonly dialect: DialectServices;
  readonly work: ModelWork | null;
  /** Counts runs for `maxRuns`: those of a tree, or of one delegation of a client. */
  readonly counter: { runs: number };
  readonly budget: Budget;
  readonly slot: SlotKeeper;
  /** Whether the cost limit was set by hand and is not the built-in one. */
  readonly hasExplicitCostLimit: boolean;
  readonly children = new Set<Run>();
  /** Rows of children that have ended. */
  readonly endedRows = new Map<string, RunRow>();
  /** Arguments that held secrets, as the model wrote them, by `callName`; facts have the redacted ones. Never stored (invariant 11). */
  readonly originals = new Map<string, Json>();
  /** Folders whose rules this process has looked for. */
  readonly foldersSeen = new Set<string>();
  /** Briefs on their way to becoming children. */
  admittingCount = 0;
  /** The deadline on the wall clock, as recorded. */
  notAfter: string | null;
  /** The deadline that is enforced, on the monotonic clock; null until the run starts. */
  deadline: number | null = null;
  pauseRequest: PauseRequest | null = null;
  /** Ending: accepts no more children or messages. */
  isClosing = false;
  readonly ended: Promise<Outcome>;
  readonly settle: { resolve(outcome: Outcome): void; reject(error: unknown): void };
  readonly #journal: Journal;
  readonly #controller = new AbortController();
  readonly #onParentAbort: () => void;
  #timer: { from: number; earlierMs: number } | null = null;
  #change = Promise.withResolvers<void>();

  constructor({ state, parent, dialect, work }: RunOptions, { journal, scheduler }: RunDeps) {
    const { rootId, depth, grant } = state.created.data;
    const { maxTokens, maxCostUsd } = grant.limits;
    this.id = state.runId;
    this.rootId = rootId;
    this.depth = depth;
    this.parent = parent;
    this.state = state;
    this.dialect = dialect;
    this.work = work;
    this.#journal = journal;
    this.counter = parent?.work ? parent.counter : { runs: 0 };
    this.hasExplicitCostLimit = work ? isCostSetByHand(grant.limits, parent?.hasExplicitCostLimit ?? false) : maxCostUsd.value !== null;
    const limit = { maxTokens: maxTokens.value, maxCostUsd: maxCostUsd.value };
    this.budget = parent ? parent.budget.child(limit) : createBudget(limit);
    this.budget.charge({ tokens: state.tokens.input + state.tokens.output, costUsd: state.costUsd ?? 0 });
    this.notAfter = startedFact(state)?.data.deadline ?? grant.notAfter;
    const maxSiblings = parent ? (parent.grant.limits.maxConcurrent.value ?? Number.MAX_SAFE_INTEGER) : 1;
    this.slot = createSlotKeeper(scheduler, { rootId, parentId: parent?.id ?? null, limit: maxSiblings, signal: this.signal });
    this.settle = Promise.withResolvers<Outcome>();
    this.ended = (this.settle as PromiseWithResolvers<Outcome>).promise;
    this.ended.catch(() => {});
    this.#onParentAbort = () => this.stop(parent?.signal.reason as StopCause);
    parent?.signal.addEventListener('abort', this.#onParentAbort, { once: true });
    if (parent?.signal.aborted) this.#onParentAbort();
  }

  get brief(): Brief {
    return this.state.created.data.brief;
  }

  get grant(): Grant {
    return this.state.created.data.grant;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
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
    this.#controller.abort(cause);
    this.notify();
  }

  /** Wakes all waits in `changed`. */
  notify(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  /** Resolves at the next `notify`, at once if the run was stopped. */
  waitForChange(): Promise<void> {
    return this.signal.aborted ? Promise.resolve() : this.#change.promise;
  }

  /** Starts measuring the run's duration, after `earlierMs` in other processes. */
  startTimer(clock: Clock, earlierMs: number): void {
    this.#timer = { from: clock.monotonic(), earlierMs };
  }

  /** How long the run has taken, unaffected by jumps of the wall clock; null if this process has not started it. */
  measureDuration(clock: Clock): number | null {
    return this.#timer && Math.round(Math.max(0, this.#timer.earlierMs) + clock.monotonic() - this.#timer.from);
  }

  /** Stops listening to the parent's signal. */
  detachFromParent(): void {
    this.parent?.signal.removeEventListener('abort', this.#onParentAbort);
  }

  /** Records facts of this run; see `Journal.record`. */
  record(drafts: Draft[], options?: RecordOptions): Promise<void> {
    return this.#journal.record(this.rootId, [{ runId: this.id, drafts }], options);
  }
}

/** The rulesets of the run and all its ancestors, as they are now. All of them must allow a call (invariant 4). */
export function collectRulesets(run: Run): Ruleset[] {
  return [...(run.parent ? rulesetsForChildren(run.parent) : []), ...ownRulesets(run).filter(({ scope }) => scope !== 'children')];
}

/** The rulesets that a run and its ancestors pass on to its children. */
export function rulesetsForChildren(run: Run): Ruleset[] {
  return [...(run.parent ? rulesetsForChildren(run.parent) : []), ...ownRulesets(run).filter(({ scope }) => scope !== 'own')];
}

function ownRulesets({ grant, state }: Run): Ruleset[] {
  return [...grant.rulesets, ...state.rights.narrowed];
}

/** Calls approved for good in this run or an ancestor. */
export function collectAlwaysAllowed(run: Run): AlwaysAllowed[] {
  return [...(run.parent ? collectAlwaysAllowed(run.parent) : []), ...run.state.rights.always];
}

/** The ending of a run that was stopped. */
export function stopToEnding({ code, message }: StopCause): Ending {
  if (code === 'deadline') return { status: 'timed_out', code, message };
  return { status: 'cancelled', code: code === 'lost' || code === 'paused' ? 'cancelled' : code, message };
}
