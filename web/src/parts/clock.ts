import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const each of [...listeners]) each();
    }, 1_000);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

const ignore = () => () => {};

/** The time, once per second; all users of a page change together. With `isTicking` false it is read once and stays. */
export function useNow(isTicking = true): number {
  return useSyncExternalStore(isTicking ? subscribe : ignore, () => now);
}
