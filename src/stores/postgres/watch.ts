// Notices what other processes have written. Orders, and trees that another process has taken, come with a notification; a slow poll finds what was
// missed. New facts are not notified with each append, because that would make commits wait for each other: while somebody watches facts, a poll looks
// for them.
import type { Leases } from './leases.ts';
import type { Timing } from './options.ts';
import type { Ownerships } from './ownership.ts';
import type { Session } from './session.ts';
import type { Query } from './transaction.ts';

export interface Watcher {
  /** The returned function stops the calls. */
  add(changed: () => void, what: 'orders' | 'all'): () => void;
  /** There are new facts: calls those who watch them soon. */
  notifyFacts(): void;
  /** Sends heartbeats from now on. Resolves when the first connection was tried. */
  start(): Promise<void>;
  close(): void;
}

export interface WatcherDeps {
  session: Session;
  leases: Leases;
  ownerships: Ownerships;
  /** The quoted name of the schema. */
  s: string;
  timing: Timing;
  wakeChannel: string;
}

export function createWatcher({ session, leases, ownerships, s, timing, wakeChannel }: WatcherDeps): Watcher {
  const orderWatchers = new Set<() => void>();
  const factWatchers = new Set<() => void>();
  let heartbeatTimer: NodeJS.Timeout | null = null;
  let factTimer: NodeJS.Timeout | null = null;
  let notifying: NodeJS.Immediate | null = null;
  let lastVersion = '';
  let isListening = false;
  let isClosed = false;

  session.onConnect(() => {
    // Something may have been written while there was no connection.
    call(orderWatchers);
    call(factWatchers);
  });

  function call(watchers: Set<() => void>): void {
    for (const changed of [...watchers]) changed();
  }

  function listen(): void {
    if (isListening) return;
    isListening = true;
    session.listen(wakeChannel, (ownerId) => {
      if (!leases.ids().includes(ownerId)) return;
      call(orderWatchers);
      call(factWatchers);
    });
  }

  /** The heartbeat and the slow poll, in one round trip. A failed heartbeat is replaced by the next one. */
  async function beat(): Promise<void> {
    heartbeatTimer = null;
    let delay = timing.heartbeat;
    try {
      const heartbeat = leases.heartbeat();
      const [, found] = await Promise.all([
        heartbeat === null ? null : session.query(heartbeat),
        heartbeat === null || orderWatchers.size + factWatchers.size === 0
          ? []
          : session.query<{ orders: boolean; lost: boolean }>(createPoll()),
      ]);
      if (found[0]?.orders || found[0]?.lost) call(orderWatchers);
    } catch {
      delay = timing.heartbeat / 10;
    }
    scheduleBeat(delay);
  }

  /** Whether there are orders for the trees of this store, or trees that it has lost. */
  function createPoll(): Query {
    const owned = ownerships.list();
    return {
      name: 'poll',
      text: `SELECT
          EXISTS (SELECT 1 FROM ${s}.orders JOIN ${s}.trees ON trees.root = orders.root WHERE trees.owner = ANY($1)) AS orders,
          EXISTS (SELECT 1 FROM unnest($2::text[], $3::text[]) AS given (owner, root)
            CROSS JOIN LATERAL (SELECT owner FROM ${s}.trees WHERE trees.root = given.root LIMIT 1) AS tree
            WHERE tree.owner IS DISTINCT FROM given.owner) AS lost`,
      values: [leases.ids(), owned.map(({ ownerId }) => ownerId), owned.map(({ rootId }) => rootId)],
    };
  }

  function scheduleBeat(delay: number): void {
    if (!isClosed && leases.ids().length > 0) heartbeatTimer ??= setTimeout(() => void beat(), delay).unref();
  }

  async function pollFacts(): Promise<void> {
    factTimer = null;
    try {
      const [found] = await session.query<{ version: string }>({
        name: 'poll-facts',
        // Facts of one tree count when they are written, others when they are complete (positions.ts).
        text: `SELECT concat_ws(' ',
            (SELECT xid || '-' || n FROM ${s}.facts ORDER BY xid DESC, n DESC LIMIT 1),
            (SELECT xid || '-' || n FROM ${s}.facts WHERE xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid DESC, n DESC LIMIT 1)
          ) AS version`,
      });
      const version = String(found?.version);
      if (version !== lastVersion) {
        lastVersion = version;
        call(factWatchers);
      }
    } catch {
      // The next poll finds it.
    }
    schedulePoll();
  }

  function schedulePoll(): void {
    if (!isClosed && factWatchers.size > 0) factTimer ??= setTimeout(() => void pollFacts(), timing.factPoll).unref();
  }

  return {
    add(changed, what) {
      const watchers = what === 'orders' ? orderWatchers : factWatchers;
      const watcher = () => changed();
      watchers.add(watcher);
      listen();
      schedulePoll();
      return () => void watchers.delete(watcher);
    },
    notifyFacts() {
      notifying ??= setImmediate(() => {
        notifying = null;
        call(factWatchers);
      });
    },
    async start() {
      listen();
      scheduleBeat(timing.heartbeat);
      await session.open();
    },
    close() {
      isClosed = true;
      orderWatchers.clear();
      factWatchers.clear();
      if (heartbeatTimer !== null) clearTimeout(heartbeatTimer);
      if (factTimer !== null) clearTimeout(factTimer);
      if (notifying !== null) clearImmediate(notifying);
    },
  };
}
