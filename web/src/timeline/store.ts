// The timeline of one tree: its facts in pages, and the events after them.
//
// 1. Events that arrive while pages load are kept and applied after them; those that a page already had are skipped.
// 2. The timeline changes in place. `version` changes with it, and listeners hear of it at most once per frame.
// 3. A process that dies records nothing, so whether the tree is driven is looked up from time to time while it is live.
import type { Client } from '../../../src/client/client.ts';
import type { Delta } from '../../../src/contract/delta.ts';
import type { StoredFact } from '../../../src/contract/fact.ts';
import { isAfter } from '../../../src/views/position.ts';
import { applyToTimeline, createTimeline, type Timeline } from '../../../src/views/timeline.ts';
import type { EventHub } from '../data/event-hub.ts';

export interface TimelineState {
  version: number;
  timeline: Timeline;
  /** Null while it loads. */
  rootId: string | null;
  /** All pages are loaded. */
  isComplete: boolean;
  isErased: boolean;
  isDriven: boolean;
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
  client: Pick<Client, 'run' | 'runs' | 'facts'>;
  hub: Pick<EventHub, 'ready' | 'subscribe'>;
  /** Calls the function soon, once for many changes. */
  createScheduler(run: () => void): { schedule(): void; cancel(): void };
  now(): number;
}

export const pageSize = 4_000;
/** The timeline shows only beginnings of texts. */
const cut = 400;
const drivenMs = 10_000;

export function createTimelineStore(id: string, { client, hub, createScheduler, now }: TimelineStoreDeps): TimelineStore {
  const listeners = new Set<() => void>();
  const empty: TimelineState = {
    ...{
      version: 0,
      timeline: createTimeline(),
      rootId: null,
      isComplete: false,
      isErased: false,
      isDriven: true,
      aheadMs: 0,
      error: null,
    },
  };
  let state = empty;
  let stop = new AbortController();
  let unsubscribe = () => {};
  let timer: ReturnType<typeof setInterval> | undefined;
  let position = '0';
  let early: StoredFact[] | null = [];
  let attempt = 0;
  let leastDelay = Number.POSITIVE_INFINITY;
  let pending: Partial<TimelineState> = {};

  const scheduler = createScheduler(() => {
    state = { ...state, ...pending, version: state.version + 1 };
    pending = {};
    for (const listener of [...listeners]) listener();
  });

  function change(changes: Partial<TimelineState>): void {
    pending = { ...pending, ...changes };
    scheduler.schedule();
  }

  const current = () => ({ ...state, ...pending });

  function apply(fact: StoredFact): void {
    if (!isAfter(fact.position, position)) return;
    const { timeline, rootId } = current();
    const belongs = fact.type === 'run.created' ? fact.data.rootId === rootId : timeline.lanes.has(fact.runId);
    if (belongs && applyToTimeline(timeline, fact)) scheduler.schedule();
  }

  function receive(event: StoredFact | Delta): void {
    if (event.type === 'delta') return;
    leastDelay = Math.min(leastDelay, now() - Date.parse(event.at));
    if (early !== null) early.push(event);
    else {
      apply(event);
      if (leastDelay !== current().aheadMs) change({ aheadMs: leastDelay });
      if (event.type === 'run.resumed' && current().timeline.lanes.has(event.runId)) change({ isDriven: true });
    }
  }

  async function load(): Promise<void> {
    const own = ++attempt;
    const { signal } = stop;
    const isStale = () => own !== attempt || signal.aborted;
    early ??= [];
    try {
      await hub.ready();
      const { rootId, erasedAt } = await client.run(id, { signal });
      if (isStale()) return;
      const timeline = createTimeline();
      position = '0';
      if (erasedAt !== undefined) {
        change({ timeline, rootId, isErased: true, isComplete: true, error: null });
        early = null;
        return;
      }
      change({ timeline, rootId, isErased: false, isComplete: false, error: null });
      for (let isLast = false; !isLast; ) {
        const facts = await client.facts(rootId, {
          tree: true,
          limit: pageSize,
          cut,
          signal,
          ...(position === '0' ? {} : { after: position }),
        });
        if (isStale()) return;
        for (const fact of facts) if (!('erased' in fact)) applyToTimeline(timeline, fact);
        position = facts.at(-1)?.position ?? position;
        isLast = facts.length < pageSize;
        scheduler.schedule();
      }
      change({ isComplete: true });
      await updateDriven();
    } catch (problem) {
      if (isStale()) return;
      change({ error: problem as Error });
    }
    const events = early ?? [];
    early = null;
    for (const event of events) apply(event);
  }

  async function updateDriven(): Promise<void> {
    const { timeline, rootId } = current();
    const isLive = rootId !== null && timeline.lanes.get(rootId)?.endedAt === null;
    if (!isLive) return;
    const roots = await client.runs({ roots: true, signal: stop.signal });
    const root = roots.find(({ runId }) => runId === rootId);
    if (root && root.driven !== current().isDriven) change({ isDriven: root.driven });
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
        onReconnect: () => void (current().error === null ? updateDriven().catch(() => {}) : load()),
      });
      timer = setInterval(() => void updateDriven().catch(() => {}), drivenMs);
      void load();
    },
    close() {
      stop.abort();
      unsubscribe();
      scheduler.cancel();
      clearInterval(timer);
    },
  };
}
