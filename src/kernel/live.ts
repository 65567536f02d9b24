// A run while this process drives it: what is not a fact. Its place in the tree, its signal, who waits for it.
import type { RetinueError } from '../contract/error.ts';
import type { Ruleset } from '../contract/grant.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { Budget } from '../scheduling/budget.ts';
import type { SlotKeeper } from '../scheduling/slot.ts';
import type { Admitted } from './admit.ts';
import type { Always } from './calls.ts';
import type { Ending } from './fold.ts';

/** Why a run is stopped from outside. The first cause wins. */
export type StopCause =
  | { code: 'cancelled' | 'client_gone' | 'deadline'; message: string }
  /** This process leaves the run as it is; another one goes on with it. */
  | { code: 'paused'; message: string }
  /** The journal can no longer be written for this tree: nothing more is done, and nothing more is said. */
  | { code: 'lost'; message: string; error: RetinueError };

/** What keeps a run from its next step. */
export interface Hold {
  reason: string;
  resumeAt: string | null;
  /** Orders that asked for it: consumed with the fact. */
  consumed: string[];
  /** The fact of it is written. */
  isRecorded: boolean;
}

/** Runs that are counted together for `maxRuns`: a tree, or what one delegation of a client has led to. */
export interface Family {
  runs: number;
}

export interface LiveRun {
  id: string;
  rootId: string;
  parent: LiveRun | null;
  depth: number;
  /** Null for a client. */
  admitted: Admitted | null;
  /** Its own; those of its ancestors hold as well, see `rulesetsOf`. */
  rulesets: Ruleset[];
  /** What came to narrow it while it was under way. */
  narrowed: Ruleset[];
  /** What was allowed for good, for it and those below it. */
  always: Always[];
  costByHand: boolean;
  family: Family;
  budget: Budget;
  slot: SlotKeeper;
  signal: AbortSignal;
  /** On the wall clock; null where nothing limits the run. Set when the run starts. */
  notAfter: string | null;
  /** The same on the monotonic clock, which is the one that counts. */
  deadline: number | null;
  children: Set<LiveRun>;
  /** Children admitted and not ended, those on their way included. */
  open: number;
  /** Rows of children that have ended, as they were last. */
  endedRows: Map<string, RunRow>;
  /** It has said its last and takes no more children and no more messages. */
  closing: boolean;
  /** Its end is being written. */
  settling: boolean;
  ended: Promise<Outcome>;
  settle: { resolve(outcome: Outcome): void; reject(error: unknown): void };
  stop(cause: StopCause): void;
  /** Set: it takes no further step until somebody lets it go on. */
  hold: Hold | null;
  /** Who let it go on last, and the orders that asked for it. */
  released: { by: string; consumed: string[] } | null;
  /** Something has come that the run may wait for. */
  notify(): void;
  /** The next time that `notify` is called, or the run is stopped. */
  changed(): Promise<void>;
  /** Lets go of the parent's signal. */
  unlink(): void;
}

type Place = Omit<
  LiveRun,
  | 'signal'
  | 'deadline'
  | 'children'
  | 'open'
  | 'endedRows'
  | 'closing'
  | 'settling'
  | 'ended'
  | 'settle'
  | 'stop'
  | 'notify'
  | 'changed'
  | 'unlink'
  | 'slot'
  | 'hold'
  | 'released'
  | 'narrowed'
  | 'always'
> &
  Partial<Pick<LiveRun, 'narrowed' | 'always'>>;

export function createLiveRun(place: Place, keeper: (signal: AbortSignal) => SlotKeeper): LiveRun {
  const controller = new AbortController();
  const done = Promise.withResolvers<Outcome>();
  done.promise.catch(() => {});
  let gate = Promise.withResolvers<void>();
  function notify(): void {
    gate.resolve();
    gate = Promise.withResolvers();
  }
  function stop(cause: StopCause): void {
    if (controller.signal.aborted) return;
    controller.abort(cause);
    notify();
  }
  const above = place.parent?.signal;
  const onAbort = () => stop(above?.reason as StopCause);
  above?.addEventListener('abort', onAbort, { once: true });
  if (above?.aborted) onAbort();
  return {
    narrowed: [],
    always: [],
    ...place,
    slot: keeper(controller.signal),
    signal: controller.signal,
    deadline: null,
    children: new Set(),
    open: 0,
    endedRows: new Map(),
    closing: false,
    settling: false,
    hold: null,
    released: null,
    ended: done.promise,
    settle: done,
    stop,
    notify,
    changed: () => (controller.signal.aborted ? Promise.resolve() : gate.promise),
    unlink: () => above?.removeEventListener('abort', onAbort),
  };
}

/** Of the run and its ancestors, as they are at this moment: all of them must allow a call (invariant 4). */
export function rulesetsOf(run: LiveRun): Ruleset[] {
  return [...(run.parent ? rulesetsOf(run.parent) : []), ...run.rulesets, ...run.narrowed];
}

/** Whether rules have come to the run, or to one above it, since it began. */
export function isNarrowed(run: LiveRun): boolean {
  return run.narrowed.length > 0 || (run.parent !== null && isNarrowed(run.parent));
}

/** What was allowed for good here or above. */
export function alwaysOf(run: LiveRun): Always[] {
  return [...(run.parent ? alwaysOf(run.parent) : []), ...run.always];
}

/** The ending of a run that was stopped. */
export function endingOf(cause: StopCause): Ending {
  if (cause.code === 'deadline') return { status: 'timed_out', code: 'deadline', message: cause.message };
  const code = cause.code === 'lost' || cause.code === 'paused' ? 'cancelled' : cause.code;
  return { status: 'cancelled', code, message: cause.message };
}
