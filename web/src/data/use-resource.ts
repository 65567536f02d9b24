import { type DependencyList, useCallback, useEffect, useRef, useState } from 'react';
import { isRemoteError } from '../../../src/client/error.ts';
import { useHub } from './context.tsx';

export interface Resource<T> {
  /** Stays while it is loaded again with the same dependencies. */
  data: T | undefined;
  error: Error | null;
  isLoading: boolean;
  reload(): void;
}

/**
 * Loads with the first render and whenever a dependency changes; the signal fires when the answer is no longer needed. After a lost connection it loads
 * again by itself. `load` itself is no dependency.
 */
export function useResource<T>(load: (signal: AbortSignal) => Promise<T>, deps: DependencyList): Resource<T> {
  const hub = useHub();
  const [state, setState] = useState<{ data: T | undefined; error: Error | null; isLoading: boolean }>({
    data: undefined,
    error: null,
    isLoading: true,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const previous = useRef<DependencyList>(deps);
  const reload = useCallback(() => setRound((value) => value + 1), []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the caller names the dependencies.
  useEffect(() => {
    const stop = new AbortController();
    const isSame = previous.current.length === deps.length && previous.current.every((value, i) => Object.is(value, deps[i]));
    previous.current = deps;
    setState((old) => ({ data: isSame ? old.data : undefined, error: null, isLoading: true }));
    latest.current(stop.signal).then(
      (data) => {
        if (!stop.signal.aborted) setState({ data, error: null, isLoading: false });
      },
      (error: Error) => {
        if (stop.signal.aborted) return;
        if (isRemoteError(error) && error.status === 401) hub.refuse(error.message);
        setState((old) => ({ data: old.data, error, isLoading: false }));
      },
    );
    return () => stop.abort();
  }, [...deps, round]);

  const hasError = state.error !== null;
  useEffect(() => {
    if (!hasError) return;
    return hub.subscribe({ onReconnect: reload, onReset: reload });
  }, [hub, hasError, reload]);

  return { ...state, reload };
}
