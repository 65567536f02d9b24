// The only writer of facts. It numbers and hashes facts, folds them into the run's state, commits the facts of all trees together, and then
// notifies listeners.
//
// J1. Facts of a run are contiguous from 1 and chained by hash.
// J2. `record` folds at once and resolves when the facts are durable; listeners are notified only after that.
// J3. One call of `record` is one transaction, and the facts of a tree are committed in the order recorded.
// J4. One tree's failure (fenced, conflict) never affects another tree. A lost tree accepts no further facts until it is claimed again.
// J5. Misuse (a run that is not open, data that is not JSON) throws before anything changes.
// J6. Facts that can wait are committed with the next facts that cannot, or a moment later. What they announce, such as a request, is done meanwhile.
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { Draft, Fact, FactOf } from '../contract/fact.ts';
import { factVersionOf } from '../contract/fact-version.ts';
import type { Clock } from '../ports/clock.ts';
import type { JobOptions } from '../ports/queue.ts';
import type { Owner, Store, StoredBlob, TreeAppend, WrittenFact } from '../ports/store.ts';
import { canonical, factHash } from '../text/canonical.ts';
import { msToIso } from '../text/instant.ts';
import { applyFact } from './state/fold.ts';
import { stateToRow } from './state/outcome.ts';
import { createRunState, type RunState } from './state/state.ts';

/** How long facts that can wait are held back at most. */
const longestWaitMs = 2;

/** The hash before the first fact of a run. */
export const genesisHash = '0'.repeat(64);

/**
 * What a run records in one transaction. The first draft of a new run is `run.created`. A function is called after the parts before it were
 * folded, with the moment that all these facts carry.
 */
export interface RunDrafts {
  runId: string;
  drafts: Draft[] | ((at: string) => Draft[]);
}

export interface RecordOptions {
  blobs?: StoredBlob[];
  consumed?: string[];
  /** For a new tree that a worker will drive: it gets this job and no owner. */
  job?: JobOptions;
  /** Nothing depends on their commit (J6). */
  canWait?: boolean;
}

export interface Journal {
  /** Adds a run whose facts were read from the store. */
  adopt(state: RunState): void;
  /** Throws for a run that is not open. */
  state(runId: string): RunState;
  find(runId: string): RunState | null;
  /** Throws for misuse; rejects only when the tree is lost. Callers that need no durability may ignore the promise. */
  record(rootId: string, parts: RunDrafts[], options?: RecordOptions): Promise<void>;
  /** Releases the state of an ended run. */
  forget(runId: string): void;
  /** Another process owns the tree now: it accepts no further facts, and facts not yet written are dropped. */
  abandon(rootId: string, error: RetinueError): void;
  /** This process has claimed a tree that it had lost: it accepts facts again. Its runs must have been forgotten. */
  reopen(rootId: string): void;
  /** `readsDeltas`: whether the listener needs deltas now; always if absent. */
  listen(listener: (event: Fact | Delta) => void, readsDeltas?: () => boolean): () => void;
  /** Whether any listener needs deltas now. */
  readsDeltas(): boolean;
  emit(delta: Delta): void;
  /** Resolves when everything recorded so far is durable or lost. */
  flushed(): Promise<void>;
}

interface Batch {
  unit: TreeAppend;
  /** The facts of the unit, for listeners. */
  facts: Fact[];
  /** Runs whose rows are written with it. A run may be forgotten before its last facts are committed. */
  touched: Map<string, RunState>;
  /** By hash: runs that start together mostly share their texts. */
  blobs: Map<string, StoredBlob>;
  done: PromiseWithResolvers<void>;
}

export interface JournalOptions {
  store: Store;
  owner: Owner;
  clock: Clock;
  /** Called once when a tree can no longer be written. */
  onLost(rootId: string, error: RetinueError): void;
}

export function createJournal({ store, owner, clock, onLost }: JournalOptions): Journal {
  const states = new Map<string, RunState>();
  const listeners = new Map<(event: Fact | Delta) => void, () => boolean>();
  const lost = new Map<string, RetinueError>();
  const knownBlobs = new Set<string>();
  let pending = new Map<string, Batch>();
  /** Batches of the commit in progress. */
  let current: Batch[] = [];
  let flushing = false;
  /** When the next commit begins, if nothing is being committed. */
  let scheduled: 'no' | 'later' | 'next' = 'no';
  let isTimerSet = false;
  let last = { ms: -1, iso: '' };

  function nowIso(): string {
    const ms = clock.now();
    if (ms !== last.ms) last = { ms, iso: msToIso(ms) };
    return last.iso;
  }

  /** The canonical JSON of the drafts that exist already. Throws for everything that can be wrong with them, before the first is written. */
  function prepare({ runId, drafts }: RunDrafts): string[] {
    const given = typeof drafts === 'function' ? [] : drafts;
    const state = states.get(runId);
    if (state ? state.phase.name === 'ended' : given[0]?.type !== 'run.created')
      throw new RetinueError('internal', `run ${runId} is not open`);
    return given.map((draft) => canonical(draft.data));
  }

  function write(runId: string, draft: Draft, { at, text }: { at: string; text: string }, { unit, facts }: Batch): void {
    const state = states.get(runId);
    const { type, data } = draft;
    const [seq, v] = [(state?.seq ?? 0) + 1, factVersionOf(draft)];
    const hash = factHash({ runId, seq, at, v, type }, text, state?.hash ?? genesisHash);
    const fact = { runId, seq, at, v, type, data, hash } as Fact;
    if (state) applyFact(state, fact);
    else states.set(runId, createRunState(fact as FactOf<'run.created'>));
    facts.push(fact);
    unit.facts.push({ runId, seq, at, v, type, data, hash, text } as WrittenFact);
  }

  function record(rootId: string, parts: RunDrafts[], options: RecordOptions = {}): Promise<void> {
    const error = lost.get(rootId);
    if (error) return rejectQuietly(error);
    const texts = parts.map(prepare);
    let batch = pending.get(rootId);
    if (!batch) {
      batch = {
        unit: { rootId, facts: [], rows: [], blobs: [], consumed: [] },
        facts: [],
        touched: new Map(),
        blobs: new Map(),
        done: Promise.withResolvers(),
      };
      batch.done.promise.catch(() => {});
      pending.set(rootId, batch);
    }
    schedule(options.canWait ? 'later' : 'next');
    const { unit, touched } = batch;
    const at = nowIso();
    for (const [part, { runId, drafts }] of parts.entries()) {
      const made = typeof drafts === 'function' ? drafts(at) : drafts;
      for (const [i, draft] of made.entries()) write(runId, draft, { at, text: texts[part]?.[i] ?? canonical(draft.data) }, batch);
      touched.set(runId, states.get(runId) as RunState);
    }
    // Blobs belong to a tree and may be erased with it, so each tree writes its own.
    for (const blob of options.blobs ?? []) if (!knownBlobs.has(`${rootId} ${blob.hash}`)) batch.blobs.set(blob.hash, blob);
    unit.consumed.push(...(options.consumed ?? []));
    if (options.job) unit.job = options.job;
    return batch.done.promise;
  }

  function schedule(when: 'later' | 'next'): void {
    if (flushing || scheduled === 'next' || scheduled === when) return;
    scheduled = when;
    if (when === 'next') clock.defer(flush);
    else if (!isTimerSet) {
      isTimerSet = true;
      clock.defer(flushLater, longestWaitMs);
    }
  }

  function flushLater(): void {
    isTimerSet = false;
    if (scheduled === 'later') void flush();
  }

  /** Commits until nothing is pending; facts recorded meanwhile join the next commit. */
  async function flush(): Promise<void> {
    scheduled = 'no';
    flushing = true;
    while (pending.size > 0) {
      current = [...pending.values()];
      pending = new Map();
      for (const { unit, touched, blobs } of current) {
        for (const state of touched.values()) unit.rows.push(stateToRow(state));
        unit.blobs.push(...blobs.values());
      }
      try {
        const results = await store.append(
          owner,
          current.map((batch) => batch.unit),
        );
        current.forEach((batch, i) => {
          const result = results[i];
          if (result?.ok) confirm(batch);
          else lose(batch, new RetinueError('fenced', `tree ${batch.unit.rootId} was taken over by another process (${result?.reason})`));
        });
      } catch (error) {
        const cause =
          error instanceof RetinueError ? error : new RetinueError('store_io', `the log could not be written: ${error}`, { cause: error });
        for (const batch of current) lose(batch, cause);
      }
    }
    current = [];
    flushing = false;
  }

  function confirm(batch: Batch): void {
    if (knownBlobs.size > 10_000) knownBlobs.clear();
    for (const { hash } of batch.unit.blobs) knownBlobs.add(`${batch.unit.rootId} ${hash}`);
    if (listeners.size > 0) for (const fact of batch.facts) notify(fact);
    batch.done.resolve();
  }

  function lose(batch: Batch, error: RetinueError): void {
    batch.done.reject(error);
    // Facts recorded while the commit failed build on facts that were not written.
    abandon(batch.unit.rootId, error);
  }

  function abandon(rootId: string, error: RetinueError): void {
    const isFirst = !lost.has(rootId);
    lost.set(rootId, lost.get(rootId) ?? error);
    pending.get(rootId)?.done.reject(error);
    pending.delete(rootId);
    if (isFirst) onLost(rootId, error);
  }

  function notify(event: Fact | Delta): void {
    for (const listener of listeners.keys()) {
      try {
        listener(event);
      } catch {
        listeners.delete(listener); // A listener that throws must not break the run.
      }
    }
  }

  return {
    adopt: (state) => void states.set(state.runId, state),
    find: (runId) => states.get(runId) ?? null,
    state(runId) {
      const state = states.get(runId);
      if (!state) throw new RetinueError('internal', `run ${runId} is not open`);
      return state;
    },
    record,
    forget: (runId) => void states.delete(runId),
    abandon,
    reopen: (rootId) => void lost.delete(rootId),
    listen(listener, readsDeltas = () => true) {
      listeners.set(listener, readsDeltas);
      return () => void listeners.delete(listener);
    },
    readsDeltas: () => listeners.values().some((readsDeltas) => readsDeltas()),
    emit: notify,
    async flushed() {
      await Promise.allSettled([...current, ...pending.values()].map((batch) => batch.done.promise));
    },
  };
}

/** A rejected promise that callers may ignore without an unhandled rejection. */
function rejectQuietly(error: RetinueError): Promise<never> {
  const rejected = Promise.reject(error);
  rejected.catch(() => {});
  return rejected;
}
