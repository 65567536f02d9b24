// The only writer of facts (one writer, one truth). It numbers and hashes them, folds them into the run's state, commits those of all
// runs together, and then tells the listeners.
//
// J1. Facts of a run are contiguous from 1 and chained by hash.
// J2. `record` folds at once and resolves when the facts are durable; listeners hear of a fact only after that.
// J3. What one call of `record` is given is in one transaction, and the facts of a tree are committed in the order recorded.
// J4. One tree's failure (fenced, conflict) never touches another's. A lost tree takes no further facts.
// J5. What cannot be written (a run that is not open or has ended, data that is no JSON) is misuse: `record` throws, nothing has changed.
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import { type Draft, type Fact, type FactOf, factVersion } from '../contract/fact.ts';
import type { Clock } from '../ports/clock.ts';
import type { Owner, Store, StoredBlob, TreeAppend, WrittenFact } from '../ports/store.ts';
import { canonical, factHash } from '../text/canonical.ts';
import { rowOf } from './fold.ts';
import { initialState, type RunState, reduce } from './state.ts';

/** The hash before the first fact of a run. */
export const genesis = '0'.repeat(64);

/** The moment that all facts of one `record` carry. */
export interface Moment {
  iso: string;
  ms: number;
}

/**
 * What a run records in one transaction. The first draft of a new run is `run.created`. A function is called when the parts before it are
 * written: it may look at the state that they led to.
 */
export interface Part {
  runId: string;
  drafts: Draft[] | ((at: Moment) => Draft[]);
}

export interface RecordOptions {
  blobs?: StoredBlob[];
  consumed?: string[];
}

export interface Journal {
  /** Takes in a run whose facts were read from the store. */
  adopt(state: RunState): void;
  state(runId: string): RunState;
  /** Throws for misuse; the promise rejects only when the tree is lost. */
  record(rootId: string, parts: Part[], options?: RecordOptions): Promise<void>;
  /** Records without waiting: the facts ride along with the next commit. */
  note(rootId: string, part: Part): void;
  /** Lets go of a run that has ended. */
  forget(runId: string): void;
  /** The tree is another process's now: it takes no further facts, and what is not written yet never will be. */
  abandon(rootId: string, error: RetinueError): void;
  listen(listener: (event: Fact | Delta) => void): () => void;
  emit(delta: Delta): void;
  /** When everything recorded so far is durable or lost. */
  settled(): Promise<void>;
}

interface Batch {
  unit: TreeAppend;
  /** The runs whose rows go with it. Held here, as a run may be forgotten before its last facts are committed. */
  touched: Map<string, RunState>;
  /** By their hashes: runs that begin together mostly have the same texts. */
  blobs: Map<string, StoredBlob>;
  done: PromiseWithResolvers<void>;
}

export interface JournalOptions {
  store: Store;
  owner: Owner;
  clock: Clock;
  /** Called once when a tree can no longer be written. */
  lost(rootId: string, error: RetinueError): void;
}

export function createJournal({ store, owner, clock, lost }: JournalOptions): Journal {
  const states = new Map<string, RunState>();
  const listeners = new Set<(event: Fact | Delta) => void>();
  const dead = new Map<string, RetinueError>();
  const knownBlobs = new Set<string>();
  let pending = new Map<string, Batch>();
  /** What is being committed. */
  let current: Batch[] = [];
  let flushing = false;
  let last: Moment = { ms: -1, iso: '' };

  function moment(): Moment {
    const ms = clock.now();
    if (ms !== last.ms) last = { ms, iso: isoOf(ms) };
    return last;
  }

  /** The canonical JSON of drafts that are there already. Everything that can be wrong with them shows here, before the first is written. */
  function prepare({ runId, drafts }: Part): string[] {
    const given = typeof drafts === 'function' ? [] : drafts;
    const state = states.get(runId);
    if (state ? state.ended : given[0]?.type !== 'run.created') throw new RetinueError('internal', `run ${runId} is not open`);
    return given.map((draft) => canonical(draft.data));
  }

  function write(runId: string, draft: Draft, { at, text }: { at: Moment; text: string }): WrittenFact {
    const state = states.get(runId);
    const head = { runId, seq: (state?.seq ?? 0) + 1, at: at.iso, v: factVersion, type: draft.type };
    const fact = { ...head, data: draft.data, hash: factHash(head, text, state?.hash ?? genesis) } as Fact;
    if (state) reduce(state, fact);
    else states.set(runId, initialState(fact as FactOf<'run.created'>));
    return { ...fact, text };
  }

  function record(rootId: string, parts: Part[], options: RecordOptions = {}): Promise<void> {
    const gone = dead.get(rootId);
    if (gone) return Promise.reject(gone);
    const texts = parts.map(prepare);
    let batch = pending.get(rootId);
    if (!batch) {
      batch = {
        unit: { rootId, facts: [], rows: [], blobs: [], consumed: [] },
        touched: new Map(),
        blobs: new Map(),
        done: Promise.withResolvers(),
      };
      batch.done.promise.catch(() => {});
      pending.set(rootId, batch);
    }
    if (!flushing) clock.defer(() => void flush());
    flushing = true;
    const { unit, touched } = batch;
    const at = moment();
    parts.forEach(({ runId, drafts }, part) => {
      (typeof drafts === 'function' ? drafts(at) : drafts).forEach((draft, i) => {
        unit.facts.push(write(runId, draft, { at, text: texts[part]?.[i] ?? canonical(draft.data) }));
      });
      touched.set(runId, states.get(runId) as RunState);
    });
    // Of another tree's texts nothing is known: they may be erased with it.
    for (const blob of options.blobs ?? []) if (!knownBlobs.has(`${rootId} ${blob.hash}`)) batch.blobs.set(blob.hash, blob);
    unit.consumed.push(...(options.consumed ?? []));
    return batch.done.promise;
  }

  /** Commits until nothing is left; what is recorded meanwhile goes with the next round. */
  async function flush(): Promise<void> {
    while (pending.size > 0) {
      current = [...pending.values()];
      pending = new Map();
      for (const { unit, touched, blobs } of current) {
        for (const state of touched.values()) unit.rows.push(rowOf(state));
        unit.blobs.push(...blobs.values());
      }
      try {
        const results = await store.append(
          owner,
          current.map((batch) => batch.unit),
        );
        current.forEach((batch, i) => {
          const result = results[i];
          if (result?.ok) committed(batch);
          else lose(batch, new RetinueError('fenced', `tree ${batch.unit.rootId} was taken over by another process (${result?.reason})`));
        });
      } catch (error) {
        const cause =
          error instanceof RetinueError
            ? error
            : new RetinueError('store_io', `the journal could not be written: ${error}`, { cause: error });
        for (const batch of current) lose(batch, cause);
      }
    }
    current = [];
    flushing = false;
  }

  function committed(batch: Batch): void {
    if (knownBlobs.size > 10_000) knownBlobs.clear();
    for (const { hash } of batch.unit.blobs) knownBlobs.add(`${batch.unit.rootId} ${hash}`);
    for (const { text: _, ...fact } of batch.unit.facts) tell(fact as Fact);
    batch.done.resolve();
  }

  function lose(batch: Batch, error: RetinueError): void {
    batch.done.reject(error);
    // What was recorded while the commit failed builds on facts that are not there.
    abandon(batch.unit.rootId, error);
  }

  function abandon(rootId: string, error: RetinueError): void {
    const first = !dead.has(rootId);
    dead.set(rootId, dead.get(rootId) ?? error);
    pending.get(rootId)?.done.reject(error);
    pending.delete(rootId);
    if (first) lost(rootId, error);
  }

  function tell(event: Fact | Delta): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch {
        listeners.delete(listener); // a listener that throws must not break the run, nor be heard twice
      }
    }
  }

  return {
    adopt: (state) => void states.set(state.runId, state),
    state(runId) {
      const state = states.get(runId);
      if (!state) throw new RetinueError('internal', `run ${runId} is not open`);
      return state;
    },
    record,
    note: (rootId, part) => void record(rootId, [part]).catch(() => {}),
    forget: (runId) => void states.delete(runId),
    abandon,
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    emit: tell,
    async settled() {
      await Promise.allSettled([...current, ...pending.values()].map((batch) => batch.done.promise));
    },
  };
}

/** A moment as facts carry it; without the clock of the machine, so that the kernel needs none. */
export function isoOf(ms: number): string {
  // biome-ignore lint/style/noRestrictedGlobals: formats a given moment, does not ask for the time
  return new Date(ms).toISOString();
}

export function msOf(iso: string): number {
  // biome-ignore lint/style/noRestrictedGlobals: reads a given moment, does not ask for the time
  return Date.parse(iso);
}
