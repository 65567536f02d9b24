// Listeners for live events of this process, and whether any of them reads deltas. Without one, models may answer in one piece.
import type { Delta } from '../contract/delta.ts';
import type { Fact } from '../contract/fact.ts';

export type Listener = (event: Fact | Delta) => void;

export interface Listeners {
  /** Returns a function that removes it. */
  add(listener: Listener, options: { deltas: boolean }): () => void;
  /** A listener that throws is removed; the others still get the event. */
  notify(event: Fact | Delta): void;
  readsDeltas(): boolean;
}

export function createListeners(): Listeners {
  const all = new Set<Listener>();
  const readers = new Set<Listener>();
  const remove = (listener: Listener) => {
    all.delete(listener);
    readers.delete(listener);
  };
  return {
    add(given, { deltas }) {
      const listener: Listener = (event) => given(event);
      all.add(listener);
      if (deltas) readers.add(listener);
      return () => remove(listener);
    },
    notify(event) {
      for (const listener of event.type === 'delta' ? readers : all) {
        try {
          listener(event);
        } catch {
          remove(listener);
        }
      }
    },
    readsDeltas: () => readers.size > 0,
  };
}
