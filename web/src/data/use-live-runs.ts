import { useCallback, useEffect, useRef, useState } from 'react';
import type { RunView, TreeQuery, TreeView } from '../../../src/contract/view.ts';
import { useClient, useHub } from './context.tsx';
import { createThrottledLoader } from './throttled-loader.ts';

export interface LiveRuns {
  /** Roots of trees, newest first; undefined while they load. */
  runs: TreeView[] | undefined;
  error: Error | null;
  reload(): void;
  /** Whether there are older trees than those loaded. */
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore(): void;
}

const pageSize = 50;
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

/** All trees of the workspace that match, kept up to date. */
export function useLiveRuns({ status, agent, text }: Omit<TreeQuery, 'limit' | 'before'> = {}): LiveRuns {
  const client = useClient();
  const hub = useHub();
  const [state, setState] = useState<{ runs: TreeView[] | undefined; hasMore: boolean; error: Error | null }>({
    runs: undefined,
    hasMore: false,
    error: null,
  });
  const [wanted, setWanted] = useState(pageSize);
  const count = useRef(wanted);
  const request = useRef(() => {});
  const statuses = status?.join(',');

  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    let hasLive = false;
    const load = async () => {
      try {
        await hub.ready();
        const filter = { status: statuses?.split(',') as RunView['status'][] | undefined, agent, text };
        const runs: TreeView[] = [];
        let next: string | null = null;
        // With a filter, one answer may have fewer trees than there are.
        do {
          const { trees, next: more } = await client.trees({
            ...filter,
            limit: count.current - runs.length,
            before: next ?? undefined,
            signal,
          });
          runs.push(...trees);
          next = more;
        } while (next !== null && runs.length < count.current);
        hasLive = runs.some(({ endedAt }) => endedAt === null);
        if (!signal.aborted) setState({ runs, hasMore: next !== null, error: null });
      } catch (error) {
        if (!signal.aborted) setState((old) => ({ ...old, error: error as Error }));
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
    void load();
    return () => {
      stop.abort();
      unsubscribe();
      loader.close();
      clearInterval(timer);
    };
  }, [client, hub, statuses, agent, text]);

  const { runs, hasMore, error } = state;
  const reload = useCallback(() => request.current(), []);
  const loadMore = useCallback(() => {
    count.current += pageSize;
    setWanted(count.current);
    request.current();
  }, []);
  return { runs, error, reload, hasMore, isLoadingMore: runs !== undefined && hasMore && wanted > runs.length, loadMore };
}
