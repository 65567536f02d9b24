import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { useClient, useHub } from '../data/context.tsx';
import { createFrameScheduler } from '../data/frame.ts';
import { createTimelineStore, type TimelineState } from './store.ts';

/** The timeline of a tree, kept up to date. */
export function useTimeline(rootId: string): TimelineState & { reload(): void } {
  const client = useClient();
  const hub = useHub();
  const store = useMemo(
    () => createTimelineStore(rootId, { client, hub, createScheduler: createFrameScheduler, now: Date.now }),
    [client, hub, rootId],
  );
  useEffect(() => {
    store.open();
    return () => store.close();
  }, [store]);
  const state = useSyncExternalStore(store.subscribe, store.state);
  return { ...state, reload: store.reload };
}

/** The time of the tree's process, while the tree is live. It moves as often as a pixel of the timeline changes. */
export function useTreeClock(isLive: boolean, { aheadMs, pixelMs }: { aheadMs: number; pixelMs: number }): number {
  const [now, setNow] = useState(() => Date.now());
  const intervalMs = Math.min(1_000, Math.max(100, 2 ** Math.ceil(Math.log2(Math.max(1, pixelMs)))));
  useEffect(() => {
    if (!isLive) return;
    setNow(Date.now());
    const timer = setInterval(() => void (document.visibilityState === 'visible' && setNow(Date.now())), intervalMs);
    return () => clearInterval(timer);
  }, [isLive, intervalMs]);
  return now - aheadMs;
}
