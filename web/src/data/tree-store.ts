// The live state of one tree: a snapshot, and the events after it.
//
// 1. Events that arrive while the snapshot loads are kept and applied after it; those that it already has are skipped.
// 2. The state changes in place. `version` changes with it, and listeners hear of it at most once per frame.
import type { Client } from '../../../src/client/client.ts';
import type { Delta } from '../../../src/contract/delta.ts';
import type { StoredFact } from '../../../src/contract/fact.ts';
import { isAfter } from '../../../src/text/position.ts';
import { applyEvent, createLiveState, type LiveState, snapshotToState } from '../../../src/views/live-state.ts';
import type { EventHub } from './event-hub.ts';

export interface TreeStore {
  version(): number;
  /** Empty until the first snapshot is loaded. */
  state(): LiveState;
  rootId(): string | null;
  error(): Error | null;
  subscribe(listener: () => void): () => void;
  reload(): void;
  /** Loads and follows the tree until it is closed; it can be opened again. */
  open(): void;
  close(): void;
}

export interface TreeStoreDeps {
  client: Pick<Client, 'tree'>;
  hub: Pick<EventHub, 'ready' | 'subscribe'>;
  /** Calls the function soon, once for many changes. */
  createScheduler(run: () => void): { schedule(): void; cancel(): void };
}

export function createTreeStore(id: string, { client, hub, createScheduler }: TreeStoreDeps): TreeStore {
  const listeners = new Set<() => void>();
  let stop = new AbortController();
  let unsubscribe = () => {};
  let state = createLiveState();
  let rootId: string | null = null;
  let position: string | null = null;
  let error: Error | null = null;
  let version = 0;
  let early: (StoredFact | Delta)[] | null = [];
  let attempt = 0;

  const scheduler = createScheduler(() => {
    version++;
    for (const listener of [...listeners]) listener();
  });

  function apply(event: StoredFact | Delta): boolean {
    if (event.type !== 'delta' && position !== null && !isAfter(event.position, position)) return false;
    const belongs = event.type === 'run.created' ? event.data.rootId === rootId : state.runs.has(event.runId);
    return belongs && applyEvent(state, event);
  }

  async function load(): Promise<void> {
    const own = ++attempt;
    const { signal } = stop;
    early ??= [];
    try {
      await hub.ready();
      const snapshot = await client.tree(id, { signal });
      if (own !== attempt || signal.aborted) return;
      state = snapshotToState(snapshot);
      ({ rootId, position } = snapshot);
      error = null;
    } catch (problem) {
      if (own !== attempt || signal.aborted) return;
      error = problem as Error;
    }
    const events = early ?? [];
    early = null;
    for (const event of events) apply(event);
    scheduler.schedule();
  }

  return {
    version: () => version,
    state: () => state,
    rootId: () => rootId,
    error: () => error,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    reload: () => void load(),
    open() {
      stop = new AbortController();
      unsubscribe = hub.subscribe({
        onEvent(event) {
          if (early !== null) early.push(event);
          else if (apply(event)) scheduler.schedule();
        },
        onReset: () => void load(),
        onReconnect: () => void (error !== null && load()),
      });
      void load();
    },
    close() {
      stop.abort();
      unsubscribe();
      scheduler.cancel();
    },
  };
}
