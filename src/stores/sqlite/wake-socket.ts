// Wakes the owner of a tree: each store that has registered listens on a Unix socket, and whoever gives an order writes
// one byte to it. All of this may fail: the look every 250 ms (see watch.ts) stands behind it.
//
// The database may come from a stranger, so it holds only the socket's name; the directory is always our own.
import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The path in a socket address holds 104 bytes on macOS and 108 on Linux, with a zero at the end. */
const maxPathBytes = 103;
const pingMs = 100;
const namePattern = /^(\d{1,10})-[0-9a-f]{8}\.sock$/;

export interface Bell {
  name: string;
  close(): void;
}

/** Null where no socket can be had. */
export async function listen(ring: () => void): Promise<Bell | null> {
  const directory = ownDirectory();
  if (directory === null) return null;
  sweep(directory);
  const name = `${process.pid}-${randomBytes(4).toString('hex')}.sock`;
  const path = join(directory, name);
  if (Buffer.byteLength(path) > maxPathBytes) return null;
  const server = createServer((connection) => {
    connection.on('error', () => {});
    connection.destroy();
    ring();
  });
  if (!(await isListening(server, path))) return null;
  server.unref();
  chmodSync(path, 0o600);
  return { name, close: () => server.close() };
}

/** Resolves when the byte is sent or cannot be, in a moment either way. */
export function ping(name: string): Promise<void> {
  const directory = ownDirectory();
  if (directory === null || !namePattern.test(name)) return Promise.resolve();
  return new Promise((resolve) => {
    const connection = connect(join(directory, name));
    const done = () => {
      clearTimeout(timer);
      connection.destroy();
      resolve();
    };
    const timer = setTimeout(done, pingMs);
    connection.on('error', done);
    connection.on('connect', () => connection.end('!', done));
  });
}

function isListening(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    server.on('error', () => resolve(false));
    server.listen(path, () => resolve(true));
  });
}

/** A directory that only this user can enter; null where somebody else has put something in its place. */
function ownDirectory(): string | null {
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

/** Removes what killed processes have left. */
function sweep(directory: string): void {
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
