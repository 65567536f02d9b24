// The one connection of a store outside its pool: for notifications, heartbeats and polls, so that a full pool delays none of them. It is opened when
// it is first needed, and opened again whenever it is lost.
import { hash } from 'node:crypto';
import type { Client, Notification } from 'pg';
import { backoffMs, type Connections, waitAtMost } from './connections.ts';
import type { Query } from './transaction.ts';

export interface Session {
  /** Opens the connection, if it is not open. Resolves when it is, or when the first attempt has failed; then others follow. */
  open(): Promise<void>;
  /** Calls `handler` with the payloads of a channel, also after a reconnection. Opens the connection. */
  listen(channel: string, handler: (payload: string) => void): () => void;
  /** Called after each connection, because notifications may have been missed before it. */
  onConnect(listener: () => void): void;
  /** Rejects at once while there is no connection. Nothing is repeated. */
  query<Row>(query: Query): Promise<Row[]>;
  /** Waits for the end of the connection, at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** The name of a channel for a schema. PostgreSQL cuts names after 63 bytes. */
export function channelName(purpose: string, schema: string): string {
  const name = `retinue_${purpose}_${schema}`;
  return Buffer.byteLength(name) <= 63 ? name : `retinue_${purpose}_${hash('sha256', schema).slice(0, 32)}`;
}

export function createSession(connections: Pick<Connections, 'connectAlone'>): Session {
  const handlers = new Map<string, Set<(payload: string) => void>>();
  const connectListeners = new Set<() => void>();
  let client: Client | null = null;
  let connecting: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let failures = 0;
  let isClosed = false;

  function open(): Promise<void> {
    if (isClosed || client !== null) return Promise.resolve();
    connecting ??= connect().finally(() => {
      connecting = null;
    });
    return connecting;
  }

  async function connect(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    try {
      const opened = await connections.connectAlone({ isLimited: true });
      // A process that only listens may end.
      (opened as unknown as { unref(): void }).unref();
      opened.on('notification', handleNotification);
      opened.on('end', () => handleEnd(opened));
      if (isClosed) return void opened.end().catch(() => {});
      client = opened;
      await Promise.all([...handlers.keys()].map((channel) => opened.query(`LISTEN ${quote(channel)}`)));
      failures = 0;
      for (const listener of connectListeners) listener();
    } catch {
      handleEnd(client);
    }
  }

  /** Tries again later, if this was the current connection or an attempt to make one. */
  function handleEnd(ended: Client | null): void {
    if (ended !== client || isClosed) return;
    client = null;
    void ended?.end().catch(() => {});
    timer ??= setTimeout(() => void open(), backoffMs(failures++)).unref();
  }

  function handleNotification({ channel, payload = '' }: Notification): void {
    for (const handler of [...(handlers.get(channel) ?? [])]) handler(payload);
  }

  async function query<Row>(statement: Query): Promise<Row[]> {
    const current = client;
    if (current === null) throw new Error('Connection terminated: there is none at the moment');
    try {
      return (await current.query(statement as { text: string })).rows as Row[];
    } catch (error) {
      // The client ends a connection that does not answer; others of its errors may leave it open, but it is cheap to replace.
      handleEnd(current);
      throw error;
    }
  }

  return {
    open,
    listen(channel, handler) {
      const known = handlers.get(channel);
      if (known !== undefined) known.add(handler);
      else {
        handlers.set(channel, new Set([handler]));
        if (client !== null) void query({ text: `LISTEN ${quote(channel)}` }).catch(() => {});
      }
      void open();
      return () => void handlers.get(channel)?.delete(handler);
    },
    onConnect: (listener) => void connectListeners.add(listener),
    query,
    async close(graceMs) {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      const end = async () => {
        await connecting;
        await client?.end();
      };
      await waitAtMost(end(), graceMs);
    },
  };
}

function quote(channel: string): string {
  return `"${channel.replaceAll('"', '""')}"`;
}
