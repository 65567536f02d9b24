// Reads new facts of the store once for all streams of this process, and keeps the recent ones. It reads only while there are streams.
import type { Delta } from '../contract/delta.ts';
import type { Fact, StoredFact } from '../contract/fact.ts';
import { isLive } from '../contract/run-status.ts';
import type { ChangeSource } from './follow.ts';

const pageSize = 500;
const maxKept = 2_000;
/** Deltas of one run that wait until its tree is known. */
const maxUnplaced = 1_000;

export interface TailReader {
  /** The run that it follows; null: all runs. */
  run: { runId: string; rootId: string } | null;
  /** There are new facts. */
  wake(): void;
  takeDelta(delta: Delta, rootId: string): void;
}

export interface Tail {
  /** Resolves to a function that leaves. */
  join(reader: TailReader): Promise<() => void>;
  /** The number after the newest kept fact. */
  end(): number;
  /** Kept facts from this number on, of one tree if it is given; null if some of them are no longer kept. */
  read(from: number, rootId?: string): StoredFact[] | null;
}

export function createTail({ store, listeners }: ChangeSource): Tail {
  const readers = new Set<TailReader>();
  const roots = new Map<string, string>();
  const unplaced = new Map<string, Delta[]>();
  let kept: { fact: StoredFact; rootId: string }[] = [];
  let first = 0;
  let position = '0';
  let isReading = false;
  let isChanged = false;
  let stop: (() => void) | null = null;
  let started: Promise<void> | null = null;

  function start(): Promise<void> {
    const onEvent = (event: Fact | Delta) => {
      if (event.type === 'delta') return passDelta(event);
      if (event.type === 'run.created') roots.set(event.runId, event.data.rootId);
      readOn();
    };
    const endListening = listeners.add(onEvent, { deltas: true });
    const endWatch = store.watch(readOn);
    const endSubscription = store.subscribe(passDelta);
    stop = () => {
      endListening();
      endWatch();
      endSubscription();
    };
    return store.cursor().then(({ newest }) => {
      // What was kept before has gaps after it.
      first += kept.length + 1;
      kept = [];
      position = newest;
    });
  }

  function passDelta(delta: Delta): void {
    const { runId } = delta;
    const waiting = unplaced.get(runId);
    const rootId = roots.get(runId) ?? readers.values().find(({ run }) => run?.runId === runId)?.run?.rootId;
    if (waiting !== undefined) {
      if (waiting.length < maxUnplaced) waiting.push(delta);
    } else if (rootId === undefined) {
      unplaced.set(runId, [delta]);
      void placeDeltas(runId);
    } else {
      roots.set(runId, rootId);
      deliver(delta, rootId);
    }
  }

  function deliver(delta: Delta, rootId: string): void {
    for (const reader of readers) reader.takeDelta(delta, rootId);
  }

  /** Looks up the tree of a run that began before the tail did, and delivers what came meanwhile. Drops it if the run has ended. */
  async function placeDeltas(runId: string): Promise<void> {
    await findRoot(runId).catch(() => {});
    const [rootId, waiting] = [roots.get(runId), unplaced.get(runId) ?? []];
    unplaced.delete(runId);
    if (rootId !== undefined) for (const delta of waiting) deliver(delta, rootId);
  }

  async function findRoot(runId: string): Promise<string> {
    const known = roots.get(runId);
    if (known !== undefined) return known;
    const row = await store.run(runId);
    if (row !== null && isLive(row.status)) roots.set(runId, row.rootId);
    return row?.rootId ?? runId;
  }

  /** Reads until nothing is new. A change during a read causes another one. */
  function readOn(): void {
    isChanged = true;
    if (isReading) return;
    isReading = true;
    void readAll().catch(() => {});
  }

  async function readAll(): Promise<void> {
    try {
      await started;
      while (isChanged && readers.size > 0) {
        isChanged = false;
        // The next change tries again. A store that keeps failing fails every other call, too.
        while (await readPage().catch(() => false));
      }
    } finally {
      // In the same step as the last look at `isChanged`: no change comes in between and is lost.
      isReading = false;
    }
  }

  /** Whether there may be more. */
  async function readPage(): Promise<boolean> {
    const facts = await store.facts({ after: position, limit: pageSize });
    for (const fact of facts) {
      if (fact.type === 'run.created') roots.set(fact.runId, fact.data.rootId);
      kept.push({ fact, rootId: await findRoot(fact.runId) });
      if (fact.type === 'run.ended') roots.delete(fact.runId);
      position = fact.position;
    }
    if (kept.length > maxKept) {
      first += kept.length - maxKept;
      kept = kept.slice(-maxKept);
    }
    if (facts.length > 0) for (const reader of readers) reader.wake();
    return facts.length === pageSize;
  }

  return {
    async join(reader) {
      readers.add(reader);
      started ??= start();
      await started;
      return () => {
        readers.delete(reader);
        if (readers.size > 0) return;
        stop?.();
        started = null;
        roots.clear();
      };
    },
    end: () => first + kept.length,
    read(from, rootId) {
      if (from < first) return null;
      const recent = kept.slice(from - first);
      return (rootId === undefined ? recent : recent.filter((each) => each.rootId === rootId)).map(({ fact }) => fact);
    },
  };
}
