// Calls that wait for approval. Loaded once for the whole page: the navigation shows their number, the inbox shows them.
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import type { Question } from '../../../src/contract/view.ts';
import { useClient, useHub } from './context.tsx';
import { createThrottledLoader } from './throttled-loader.ts';

export interface Questions {
  /** Oldest first; undefined while they load. */
  questions: Question[] | undefined;
  error: Error | null;
  reload(): void;
}

const Context = createContext<Questions>({ questions: undefined, error: null, reload() {} });
const relevant = new Set<string>(['approval.asked', 'approval.answered', 'run.ended', 'run.paused', 'run.resumed']);
/** Questions expire without an event. */
const refreshMs = 10_000;

export function QuestionsProvider({ children }: { children: ReactNode }): ReactNode {
  const client = useClient();
  const hub = useHub();
  const [state, setState] = useState<Questions>({ questions: undefined, error: null, reload() {} });
  useEffect(() => {
    const stop = new AbortController();
    let known = 0;
    const load = async () => {
      try {
        await hub.ready();
        const questions = await client.questions({ signal: stop.signal });
        known = questions.length;
        if (!stop.signal.aborted) setState((old) => ({ ...old, questions, error: null }));
      } catch (error) {
        if (!stop.signal.aborted) setState((old) => ({ ...old, error: error as Error }));
      }
    };
    const loader = createThrottledLoader(load, { soonMs: 20, intervalMs: 300 });
    setState((old) => ({ ...old, reload: loader.request }));
    const unsubscribe = hub.subscribe({
      onEvent: (event) => void (relevant.has(event.type) && loader.request()),
      onReset: loader.request,
      onReconnect: loader.request,
    });
    const timer = setInterval(() => {
      if (known > 0 && document.visibilityState === 'visible') loader.request();
    }, refreshMs);
    loader.request();
    return () => {
      stop.abort();
      unsubscribe();
      loader.close();
      clearInterval(timer);
    };
  }, [client, hub]);
  return <Context value={state}>{children}</Context>;
}

export function useQuestions(): Questions {
  return useContext(Context);
}
