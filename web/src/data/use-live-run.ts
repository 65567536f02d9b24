import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { useClient, useHub } from './context.tsx';
import { createFrameScheduler } from './frame.ts';
import { createRunStore, type RunRecord } from './run-store.ts';

export interface LiveRecord {
  /** Changes in place; `version` changes with it, at most once per frame. */
  record: RunRecord;
  version: number;
  error: Error | null;
  reload(): void;
}

/** The facts of one run as conversation and log, kept up to date, with text while it streams. */
export function useLiveRun(id: string): LiveRecord {
  const client = useClient();
  const hub = useHub();
  const store = useMemo(() => createRunStore(id, { client, hub, createScheduler: createFrameScheduler }), [client, hub, id]);
  useEffect(() => {
    store.open();
    return () => store.close();
  }, [store]);
  const version = useSyncExternalStore(store.subscribe, store.version);
  return { record: store.record(), version, error: store.error(), reload: store.reload };
}
