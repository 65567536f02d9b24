// The one event stream of a page, shared by everything that it shows.
//
// 1. Browsers allow six connections to a server for all tabs together, so a page has one stream, and a hidden page none.
// 2. `ready` resolves once the stream's start is known. A snapshot that is loaded after that has no gap to the events that listeners get.
// 3. After `onReset`, listeners load their data again.
import type { Client } from '../../../src/client/client.ts';
import { isRemoteError } from '../../../src/client/error.ts';
import type { Delta } from '../../../src/contract/delta.ts';
import type { StoredFact } from '../../../src/contract/fact.ts';

export interface HubListener {
  onEvent?(event: StoredFact | Delta): void;
  onReset?(): void;
  /** The connection works again after it was lost. */
  onReconnect?(): void;
}

/** `refused`: the server does not accept the session; a new link is needed. `failed`: it answers, but what was asked for cannot be shown. */
export type Connection = { state: 'connecting' | 'open' } | { state: 'lost' | 'refused' | 'failed'; reason: string };

export interface EventHub {
  ready(): Promise<void>;
  subscribe(listener: HubListener): () => void;
  connection(): Connection;
  watchConnection(listener: () => void): () => void;
  /** An answer of the server that ends the session. */
  refuse(reason: string): void;
  start(): void;
  /** Ends the connection; `start` continues after the last event. */
  stop(): void;
}

const retryMs = 1_000;

export function createEventHub(client: Pick<Client, 'position' | 'events'>): EventHub {
  const listeners = new Set<HubListener>();
  const watchers = new Set<() => void>();
  const { promise: ready, resolve: setReady } = Promise.withResolvers<void>();
  let connection: Connection = { state: 'connecting' };
  let cursor: string | null = null;
  let running: AbortController | null = null;
  let wasLost = false;

  function setConnection(next: Connection): void {
    if (next.state === connection.state && next.state !== 'lost') return;
    // While it is lost, an attempt to connect is no news.
    if (next.state === 'connecting' && connection.state === 'lost') return;
    connection = next;
    for (const watcher of [...watchers]) watcher();
    if (next.state === 'lost') wasLost = true;
    if (next.state !== 'open' || !wasLost) return;
    wasLost = false;
    for (const listener of [...listeners]) listener.onReconnect?.();
  }

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        cursor ??= await client.position({ signal });
        setReady();
        for await (const event of client.events({ after: cursor, signal, onConnection: report })) {
          if (event.type === 'reset') {
            cursor = event.position;
            for (const listener of [...listeners]) listener.onReset?.();
            continue;
          }
          if (event.type !== 'delta') cursor = event.position;
          for (const listener of [...listeners]) listener.onEvent?.(event);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (isRemoteError(error) && error.status === 401) return setConnection({ state: 'refused', reason: error.message });
        if (isRemoteError(error) && !error.retryable) return setConnection({ state: 'failed', reason: error.message });
        setConnection({ state: 'lost', reason: (error as Error).message });
      }
      if (!signal.aborted) await sleep(retryMs, signal);
    }
  }

  function report(state: { state: 'connecting' | 'open' } | { state: 'waiting'; reason: string }): void {
    setConnection(state.state === 'waiting' ? { state: 'lost', reason: state.reason } : { state: state.state });
  }

  return {
    ready: () => ready,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    connection: () => connection,
    watchConnection(watcher) {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    refuse: (reason) => setConnection({ state: 'refused', reason }),
    start() {
      if (running !== null) return;
      running = new AbortController();
      void follow(running.signal);
    },
    stop() {
      running?.abort();
      running = null;
    },
  };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
