// Live pieces of streams between processes, over the wake-up sockets of the processes that drive trees (wake-socket.ts). Best effort: without a
// connection a reader still sees every fact, at the next poll.
//
// A line is the JSON of a delta; an empty line says that facts were written.
import { connect, type Socket } from 'node:net';
import type { Delta } from '../../contract/delta.ts';
import { readDelta } from '../live-delta.ts';

/** Above this backlog a subscriber gets no more deltas until it has read them. */
const maxBacklogBytes = 256 * 1024;
/** A longer line does not come from this program. */
const maxLineChars = 1024 * 1024;

export interface Publisher {
  add(subscriber: Socket): void;
  publish(delta: Delta): void;
  hasSubscribers(): boolean;
  /** Tells subscribers that facts were written. */
  announce(): void;
  close(): void;
}

export function createPublisher(): Publisher {
  const subscribers = new Set<Socket>();
  let announcing: NodeJS.Immediate | null = null;
  const send = (line: string) => {
    for (const socket of subscribers) if (socket.writableLength < maxBacklogBytes) socket.write(line);
  };
  return {
    add(socket) {
      subscribers.add(socket);
      socket.on('close', () => subscribers.delete(socket));
      socket.resume();
    },
    publish(delta) {
      if (subscribers.size > 0) send(`${JSON.stringify(delta)}\n`);
    },
    hasSubscribers: () => subscribers.size > 0,
    announce() {
      if (subscribers.size === 0 || announcing !== null) return;
      announcing = setImmediate(() => {
        announcing = null;
        send('\n');
      });
    },
    close() {
      if (announcing !== null) clearImmediate(announcing);
      for (const socket of subscribers) socket.destroy();
    },
  };
}

export interface Subscription {
  /** Connects to the sockets that are not connected yet and leaves those that are gone from the list. */
  update(paths: string[]): void;
  close(): void;
}

export function createSubscription({ onDelta, onChange }: { onDelta(delta: Delta): void; onChange(): void }): Subscription {
  const connections = new Map<string, Socket>();
  /** A socket's name is never used again, so one that ended needs no second attempt. */
  const ended = new Set<string>();

  function open(path: string): void {
    const socket = connect(path);
    let rest = '';
    connections.set(path, socket);
    socket.setEncoding('utf8');
    socket.on('connect', () => socket.write('s'));
    socket.on('error', () => {});
    socket.on('close', () => {
      connections.delete(path);
      ended.add(path);
    });
    socket.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() as string;
      if (rest.length > maxLineChars) return socket.destroy();
      for (const line of lines) if (line !== '') handleLine(line, socket);
      if (lines.includes('')) onChange();
      return undefined;
    });
    socket.unref();
  }

  function handleLine(line: string, socket: Socket): void {
    const delta = parseDelta(line);
    if (delta === null) socket.destroy();
    else onDelta(delta);
  }

  return {
    update(paths) {
      for (const [path, socket] of connections) if (!paths.includes(path)) socket.destroy();
      for (const path of paths) if (!connections.has(path) && !ended.has(path)) open(path);
    },
    close() {
      for (const socket of connections.values()) socket.destroy();
    },
  };
}

function parseDelta(line: string): Delta | null {
  try {
    return readDelta(JSON.parse(line));
  } catch {
    return null;
  }
}
