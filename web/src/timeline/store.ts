// The timeline of one tree: its facts in pages, and the events after them.
//
// 1. Events that arrive while pages load are kept and applied after them; those that a page already had are skipped.
// 2. The timeline changes in place. `version` changes with it, and listeners hear of it at most once per frame.
import type { Client } from '../../../src/client/client.ts';
import type { Delta } from '../../../src/contract/delta.ts';
import type { StoredFact } from '../../../src/contract/fact.ts';
import { isAfter } from '../../../src/views/position.ts';
import { applyToTimeline, createTimeline, type Timeline } from '../../../src/views/timeline.ts';
import type { EventHub } from '../data/event-hub.ts';

export interface TimelineState {
  version: number;
  timeline: Timeline;
  /** All pages are loaded. */
  isComplete: boolean;
  /** How far the clock of this browser is ahead of the one that facts are recorded with, as far as known. */
  aheadMs: number;
  error: Error | null;
}

export interface TimelineStore {
  /** A new object after each change. */
  state(): TimelineState;
  subscribe(listener: () => void): () => void;
  reload(): void;
  /** Loads and follows the tree until it is closed; it can be opened again. */
  open(): void;
  close(): void;
}

export interface TimelineStoreDeps {
  client: Pick<Client, 'facts'>;
  hub: Pick<EventHub, 'ready' | 'subscribe'>;
  /** Calls the function soon, once for many changes. */
  createScheduler(run: () => void): { schedule(): void; cancel(): void };
  now(): number;
}

export const pageSize = 4_000;
/** The timeline shows only beginnings of texts. */
const cut = 400;

export function createTimelineStore(rootId: string, { client, hub, createScheduler, now }: TimelineStoreDeps): TimelineStore {
  const listeners = new Set<() => void>();
  let state: TimelineState = { version: 0, timeline: createTimeline(), isComplete: false, aheadMs: 0, error: null };
  let next: Omit<TimelineState, 'version'> = state;
  let stop = new AbortController();
  let unsubscribe = () => {};
  let position: string | undefined;
  let early: StoredFact[] | null = [];
  let attempt = 0;
  let leastDelay = Number.POSITIVE_INFINITY;

  const scheduler = createScheduler(() => {
    state = { ...next, version: state.version + 1 };
    for (const listener of [...listeners]) listener();
  });

  function change(changes: Partial<TimelineState>): void {
    next = { ...next, ...changes };
    scheduler.schedule();
  }

  function apply(fact: StoredFact): void {
    if (position !== undefined && !isAfter(fact.position, position)) return;
    const { timeline } = next;
    const belongs = fact.type === 'run.created' ? fact.data.rootId === rootId : timeline.lanes.has(fact.runId);
    if (belongs && applyToTimeline(timeline, fact)) scheduler.schedule();
  }

  function receive(event: StoredFact | Delta): void {
    if (event.type === 'delta') return;
    const delay = now() - Date.parse(event.at);
    // The fastest delivery so far is the best estimate.
    if (delay < leastDelay) {
      leastDelay = delay;
      change({ aheadMs: delay });
    }
    if (early === null) apply(event);
    else early.push(event);
  }

  async function load(): Promise<void> {
    const own = ++attempt;
    const { signal } = stop;
    const isStale = () => own !== attempt || signal.aborted;
    early ??= [];
    try {
      await hub.ready();
      const timeline = createTimeline();
      let last: string | undefined;
      for (let isLast = false; !isLast; ) {
        const after = last === undefined ? {} : { after: last };
        const facts = await client.facts(rootId, { tree: true, limit: pageSize, cut, signal, ...after });
        if (isStale()) return;
        for (const fact of facts) if (!('erased' in fact)) applyToTimeline(timeline, fact);
        last = facts.at(-1)?.position ?? last;
        isLast = facts.length < pageSize;
        change({ timeline, isComplete: isLast, error: null });
      }
      position = last;
    } catch (problem) {
      if (isStale()) return;
      change({ error: problem as Error });
    }
    const events = early ?? [];
    early = null;
    for (const event of events) apply(event);
  }

  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    reload: () => void load(),
    open() {
      stop = new AbortController();
      unsubscribe = hub.subscribe({
        onEvent: receive,
        onReset: () => void load(),
        onReconnect: () => void (next.error !== null && load()),
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
