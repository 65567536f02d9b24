// Subscribes to the live pieces of all other processes that have a lease on this database, while there are listeners.
import type { StatementSync } from 'node:sqlite';
import type { Delta } from '../../contract/delta.ts';
import { createSubscription, type Subscription } from './live-relay.ts';
import { getSocketPaths } from './wake-socket.ts';
import type { ChangeWatcher } from './watch.ts';

export interface LiveSubscriber {
  /** The returned function ends the subscription. */
  add(listener: (delta: Delta) => void): () => void;
  close(): void;
}

export interface SubscriberDeps {
  statements: (sql: string) => StatementSync;
  /** Its watchers are called when a subscribed process has written. */
  watcher: Pick<ChangeWatcher, 'add' | 'notify'>;
  ownSocket(): string | null;
}

export function createLiveSubscriber({ statements, watcher, ownSocket }: SubscriberDeps): LiveSubscriber {
  const listeners = new Set<(delta: Delta) => void>();
  let current: { subscription: Subscription; endWatch(): void } | null = null;

  function listSockets(): string[] | null {
    try {
      const rows = statements('SELECT socket FROM owners WHERE socket IS NOT NULL').all();
      return getSocketPaths(rows.map(({ socket }) => socket as string).filter((name) => name !== ownSocket()));
    } catch {
      // The database is locked, or too old to have leases. The next change tries again.
      return null;
    }
  }

  function open(): NonNullable<typeof current> {
    const subscription = createSubscription({
      onDelta: (delta) => {
        for (const listener of listeners) listener(delta);
      },
      onChange: watcher.notify,
    });
    const update = () => {
      const paths = listSockets();
      if (paths !== null) subscription.update(paths);
    };
    update();
    // A process that begins to drive runs writes its lease first, which is a change.
    return { subscription, endWatch: watcher.add(update) };
  }

  function close(): void {
    current?.endWatch();
    current?.subscription.close();
    current = null;
  }

  return {
    add(listener) {
      listeners.add(listener);
      current ??= open();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) close();
      };
    },
    close,
  };
}
