import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { LiveState } from '../../../src/views/live-state.ts';
import { useClient, useHub } from './context.tsx';
import { createFrameScheduler } from './frame.ts';
import { createTreeStore } from './tree-store.ts';

export interface LiveTree {
  /** Changes in place; `version` changes with it, at most once per frame. Use `version` as dependency of what you compute from it. */
  state: LiveState;
  version: number;
  /** Null while it loads. */
  rootId: string | null;
  error: Error | null;
  reload(): void;
}

/** The tree that a run belongs to, kept up to date. `id` may be any run of it. */
export function useLiveTree(id: string): LiveTree {
  const client = useClient();
  const hub = useHub();
  const store = useMemo(() => createTreeStore(id, { client, hub, createScheduler: createFrameScheduler }), [client, hub, id]);
  useEffect(() => {
    store.open();
    return () => store.close();
  }, [store]);
  const version = useSyncExternalStore(store.subscribe, store.version);
  return { state: store.state(), version, rootId: store.rootId(), error: store.error(), reload: store.reload };
}
