import { useEffect, useState } from 'react';
import { useClient, useHub } from './context.tsx';
import { createThrottledLoader } from './throttled-loader.ts';

const relevant = new Set<string>(['run.paused', 'run.resumed', 'run.created']);
/** A process that dies records nothing, so this is looked up. */
const refreshMs = 5_000;

/** Whether a living process drives the tree; undefined until it is known. `isLive`: false for a tree that has ended. */
export function useIsDriven(rootId: string | null, isLive: boolean): boolean | undefined {
  const client = useClient();
  const hub = useHub();
  const [isDriven, setDriven] = useState<boolean>();
  useEffect(() => {
    if (rootId === null || !isLive) return setDriven(undefined);
    const stop = new AbortController();
    const load = async () => {
      const roots = await client.runs({ roots: true, signal: stop.signal }).catch(() => null);
      const root = roots?.find(({ runId }) => runId === rootId);
      if (!stop.signal.aborted && root !== undefined) setDriven(root.driven);
    };
    const loader = createThrottledLoader(load, { soonMs: 50, intervalMs: 1_000 });
    const unsubscribe = hub.subscribe({
      onEvent: (event) => void (relevant.has(event.type) && loader.request()),
      onReset: loader.request,
      onReconnect: loader.request,
    });
    const timer = setInterval(() => void (document.visibilityState === 'visible' && loader.request()), refreshMs);
    loader.request();
    return () => {
      stop.abort();
      unsubscribe();
      loader.close();
      clearInterval(timer);
    };
  }, [client, hub, rootId, isLive]);
  return isDriven;
}
