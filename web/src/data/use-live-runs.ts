import { useCallback, useEffect, useRef, useState } from 'react';
import type { RunView } from '../../../src/contract/view.ts';
import { useClient, useHub } from './context.tsx';
import { createThrottledLoader } from './throttled-loader.ts';

export interface LiveRuns {
  /** Roots of trees, newest first; undefined while they load. */
  runs: RunView[] | undefined;
  error: Error | null;
  reload(): void;
  /** Whether there are older trees than those loaded. */
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore(): void;
}

export const pageSize = 50;
/** Facts that change what a list of trees says. */
const relevant = new Set<string>([
  'run.created',
  'run.started',
  'run.ended',
  'run.paused',
  'run.resumed',
  'model.answered',
  'approval.asked',
  'approval.answered',
]);
/** A process that dies records nothing, so this is looked up while trees are live. */
const refreshMs = 10_000;

/** All trees of the workspace, kept up to date. */
export function useLiveRuns(): LiveRuns {
  const client = useClient();
  const hub = useHub();
  const [state, setState] = useState<{ runs: RunView[] | undefined; hasMore: boolean; error: Error | null }>({
    runs: undefined,
    hasMore: false,
    error: null,
  });
  const [wanted, setWanted] = useState(pageSize);
  const count = useRef(wanted);
  count.current = wanted;
  const request = useRef(() => {});

  useEffect(() => {
    const stop = new AbortController();
    let hasLive = false;
    const load = async () => {
      try {
        await hub.ready();
        const limit = count.current;
        const runs = await client.runs({ all: true, roots: true, limit: limit + 1, signal: stop.signal });
        hasLive = runs.some(({ endedAt }) => endedAt === null);
        if (!stop.signal.aborted) setState({ runs: runs.slice(0, limit), hasMore: runs.length > limit, error: null });
      } catch (error) {
        if (!stop.signal.aborted) setState((old) => ({ ...old, error: error as Error }));
      }
    };
    const loader = createThrottledLoader(load, { soonMs: 20, intervalMs: 1_000 });
    request.current = loader.request;
    const unsubscribe = hub.subscribe({
      onEvent: (event) => void (relevant.has(event.type) && loader.request()),
      onReset: loader.request,
      onReconnect: loader.request,
    });
    const timer = setInterval(() => {
      if (hasLive && document.visibilityState === 'visible') loader.request();
    }, refreshMs);
    loader.request();
    return () => {
      stop.abort();
      unsubscribe();
      loader.close();
      clearInterval(timer);
    };
  }, [client, hub]);

  const { runs, hasMore, error } = state;
  const reload = useCallback(() => request.current(), []);
  const loadMore = useCallback(() => {
    setWanted((value) => value + pageSize);
    count.current += pageSize;
    request.current();
  }, []);
  return { runs, error, reload, hasMore, isLoadingMore: runs !== undefined && hasMore && wanted > runs.length, loadMore };
}
