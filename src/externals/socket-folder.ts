// Folders for the Unix sockets of a session. They are in the folder for temporary files, because the path of a socket must be short. A process that was
// killed leaves its folder; later ones find it by a socket without a listening process.
import { lstatSync, mkdtempSync, readdirSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { removeTree } from '../system/remove-tree.ts';
import { sha256 } from '../text/canonical.ts';

/** A folder without that socket that is younger may still get it. */
const draftAgeMs = 3_600_000;
const connectMs = 1000;

export interface SocketFolders {
  /** The folder for temporary files. */
  temporary: string;
  /** The folder of the homes that they belong to: others do not touch them. */
  folder: string;
}

export interface SocketFolder {
  path: string;
  /** Deletes it. Never rejects. */
  close(): Promise<void>;
}

/** Only this user can open it. While it is in use, this process listens on a socket in it. */
export async function openSocketFolder(where: SocketFolders): Promise<SocketFolder> {
  const path = mkdtempSync(join(where.temporary, prefixOf(where)));
  const server = createServer((connection) => connection.on('error', () => {}).destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(join(path, aliveName), resolve);
    });
  } catch (error) {
    await removeTree(path).catch(() => {});
    throw error;
  }
  server.unref();
  return {
    path,
    async close() {
      await removeTree(path).catch(() => {});
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function prefixOf({ folder }: SocketFolders): string {
  return `retinue-gate-${sha256(folder).slice(0, 8)}-`;
}

/** The other sockets in such a folder. */
export const socketNames = { model: 'model', submit: 'submit' } as const;
const aliveName = 'alive';

/** Folders whose process has ended. Never rejects. */
export async function listDeadSocketFolders(where: SocketFolders): Promise<string[]> {
  const paths = readNames(where.temporary)
    .filter((name) => name.startsWith(prefixOf(where)))
    .map((name) => join(where.temporary, name));
  const dead = await Promise.all(paths.map((path) => isDeadSocketFolder(path, where)));
  return paths.filter((_, n) => dead[n]);
}

/** Whether a path is such a folder. Never rejects. */
export async function isDeadSocketFolder(path: string, where: SocketFolders): Promise<boolean> {
  try {
    const stats = lstatSync(path);
    const isOurs = dirname(path) === where.temporary && basename(path).startsWith(prefixOf(where));
    if (!isOurs || !stats.isDirectory() || stats.uid !== process.getuid?.()) return false;
    if (!readNames(path).includes(aliveName)) return stats.mtimeMs < Date.now() - draftAgeMs;
    return !(await hasListener(join(path, aliveName)));
  } catch {
    return false;
  }
}

/** Anything but a refusal counts as a listener: a folder that is in use must stay. */
function hasListener(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = createConnection(socket);
    const settle = (result: boolean) => {
      connection.destroy();
      resolve(result);
    };
    connection.setTimeout(connectMs, () => settle(true));
    connection.once('connect', () => settle(true));
    connection.once('error', (error: NodeJS.ErrnoException) => settle(error.code !== 'ECONNREFUSED' && error.code !== 'ENOTSOCK'));
  });
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
