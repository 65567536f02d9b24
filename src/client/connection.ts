// Whether the streams of a server are connected, as one state for people: lost, and found again.
import type { RemoteServer } from '../api/api.ts';
import type { ConnectionState } from './events.ts';

export interface ConnectionWatch {
  /** For each stream of events. */
  update(state: ConnectionState): void;
  watch: RemoteServer['watchConnection'];
}

export function createConnectionWatch(): ConnectionWatch {
  const listeners = new Set<Parameters<RemoteServer['watchConnection']>[0]>();
  let isConnected = true;
  return {
    update(change) {
      if (change.state === 'connecting' || (change.state === 'open') === isConnected) return;
      isConnected = change.state === 'open';
      for (const listener of [...listeners]) listener({ isConnected, reason: change.state === 'waiting' ? change.reason : '' });
    },
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
