// Parts of the dashboard's data layer in a test: a hub whose events the test sends, and a scheduler that runs when it is told to.
import type { Delta } from '../../src/contract/delta.ts';
import type { Fact, StoredFact } from '../../src/contract/fact.ts';
import type { HubListener } from '../../web/src/data/event-hub.ts';

export function createTestHub() {
  const listeners = new Set<HubListener>();
  return {
    ready: async () => {},
    subscribe(listener: HubListener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    send(...events: (StoredFact | Delta)[]) {
      for (const event of events) for (const listener of listeners) listener.onEvent?.(event);
    },
    reset() {
      for (const listener of listeners) listener.onReset?.();
    },
    size: () => listeners.size,
  };
}

/** Counts how often work was asked for; `flush` does it once. */
export function createTestScheduler() {
  let run = () => {};
  let isDue = false;
  return {
    create(work: () => void) {
      run = work;
      return {
        schedule() {
          isDue = true;
        },
        cancel() {
          isDue = false;
        },
      };
    },
    flush() {
      if (!isDue) return false;
      isDue = false;
      run();
      return true;
    },
  };
}

type FactLike = { type: Fact['type']; runId?: string; data?: unknown; at?: string };

/** A fact with only the data that the test is about. */
export function createFact({ type, runId = 'a', data = {}, at = '2026-01-01T00:00:00.000Z' }: FactLike, position: number): StoredFact {
  return { runId, seq: position, at, v: 1, type, data, hash: '', position: String(position) } as StoredFact;
}

export function createdFact(runId: string, parentId: string | null, position: number, rootId = 'a'): StoredFact {
  const limits = { maxTurns: { value: 40, from: 'default' } };
  const data = {
    brief: { task: `task of ${runId}`, label: runId },
    grant: { limits },
    kind: 'agent',
    parentId,
    rootId,
    depth: 0,
    agent: 'general',
    model: null,
  };
  return createFact({ type: 'run.created', runId, data }, position);
}

export function deferred<T>() {
  return Promise.withResolvers<T>();
}

/** Lets everything that is ready run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}
