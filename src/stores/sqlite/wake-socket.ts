// Wakes the owner of a tree when another process gives it an order. Each store with a lease listens on a Unix socket; the process that
// writes the order sends `!` to it. Any of this may fail: polling (see watch.ts) finds the order within 250 ms. A process that watches runs sends
// `s` instead and stays connected (live-relay.ts).
//
// The database may come from an untrusted source, so it holds only the socket's name. The directory is always our own.
import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Socket addresses hold 104 bytes on macOS and 108 on Linux, including a zero at the end. */
const maxPathBytes = 103;
const sendTimeoutMs = 100;
const subscribe = 's'.charCodeAt(0);
const namePattern = /^(\d{1,10})-[0-9a-f]{8}\.sock$/;

export interface WakeSocket {
  name: string;
  close(): void;
}

/** Null if no socket can be opened. */
export async function openWakeSocket(onWakeUp: () => void, onSubscriber: (socket: Socket) => void): Promise<WakeSocket | null> {
  const directory = getSocketDirectory();
  if (directory === null) return null;
  removeStaleSockets(directory);
  const name = `${process.pid}-${randomBytes(4).toString('hex')}.sock`;
  const path = join(directory, name);
  if (Buffer.byteLength(path) > maxPathBytes) return null;
  const server = createServer((connection) => {
    connection.on('error', () => {});
    connection.setTimeout(sendTimeoutMs * 10, () => connection.destroy());
    connection.once('data', (first) => {
      if (first[0] === subscribe) {
        connection.setTimeout(0);
        onSubscriber(connection.unref());
        return;
      }
      connection.destroy();
      onWakeUp();
    });
  });
  if (!(await listen(server, path))) return null;
  server.unref();
  chmodSync(path, 0o600);
  return { name, close: () => server.close() };
}

/** Resolves when the byte is sent or could not be sent, within 100 ms. */
export function sendWakeUp(name: string): Promise<void> {
  const directory = getSocketDirectory();
  if (directory === null || !namePattern.test(name)) return Promise.resolve();
  return new Promise((resolve) => {
    const connection = connect(join(directory, name));
    const done = () => {
      clearTimeout(timer);
      connection.destroy();
      resolve();
    };
    const timer = setTimeout(done, sendTimeoutMs);
    connection.on('error', done);
    connection.on('connect', () => connection.end('!', done));
  });
}

/** The paths of sockets by their names; empty if there can be none. */
export function getSocketPaths(names: string[]): string[] {
  const directory = getSocketDirectory();
  return directory === null ? [] : names.filter((name) => namePattern.test(name)).map((name) => join(directory, name));
}

/** False if the server cannot listen there. */
function listen(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    server.on('error', () => resolve(false));
    server.listen(path, () => resolve(true));
  });
}

/** A directory that only this user can enter. Null if something else has its name. */
function getSocketDirectory(): string | null {
  const user = process.getuid?.();
  if (user === undefined) return null;
  const directory = join(tmpdir(), `retinue-${user}`);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return null;
  }
  const found = lstatSync(directory, { throwIfNoEntry: false });
  return found?.isDirectory() && found.uid === user && (found.mode & 0o077) === 0 ? directory : null;
}

/** Removes the sockets of killed processes. */
function removeStaleSockets(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = Number(namePattern.exec(name)?.[1]);
    if (pid > 0 && !isRunning(pid)) rmSync(join(directory, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
