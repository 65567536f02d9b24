// The user's key for orders and runs: proof, in a database that several processes share, that the user gave an order and that a process of the user
// wrote a run (ports/store.ts, OrderAuthenticator).
// It lies in the user's configuration folder, readable only by the user, and is created with the first run or order.
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import type { OrderAuthenticator } from '../ports/store.ts';
import { createOrderAuthenticator } from '../stores/order-authenticator.ts';
import { readUserFile, removeIfPossible } from './user-file.ts';
import { type Env, userConfigFolder } from './user-folders.ts';

const keyBytes = 32;
const maxFileBytes = 1_024;

export function orderKeyPath(env: Env): string {
  return join(userConfigFolder(env), 'order-key');
}

export function createKeyAuthenticator(path: string): OrderAuthenticator {
  return createOrderAuthenticator({ read: () => readOrderKey(path), create: () => createOrderKey(path) });
}

/**
 * The key of the user: the file that RETINUE_ORDER_KEY names, or the one in the configuration folder. A named file must exist: if each machine of a
 * cluster created one, their keys would differ. Throws `usage` if it cannot be read.
 */
export function createUserAuthenticator(env: Env): OrderAuthenticator {
  const given = env.RETINUE_ORDER_KEY?.trim();
  if (!given) return createKeyAuthenticator(orderKeyPath(env));
  if (readOrderKey(given) === null)
    throw new RetinueError(
      'usage',
      `RETINUE_ORDER_KEY names ${given}, which does not exist; create it once with \`openssl rand -hex 32\` and give every machine the same file, readable only by its user`,
    );
  return createKeyAuthenticator(given);
}

/** Null if there is no key yet. Throws `usage` if the file is not a private key. */
function readOrderKey(path: string): Uint8Array | null {
  const text = readUserFile(path, maxFileBytes);
  if (text === null) return null;
  if ((statSync(path).mode & 0o077) !== 0)
    throw new RetinueError('usage', `${path} can be read by other users, who could then give orders to your runs; run \`chmod 600\` on it`);
  const key = Buffer.from(text.trim(), 'hex');
  if (key.length !== keyBytes)
    throw new RetinueError('usage', `${path} is not a key for orders; delete it, and Retinue creates a new one with the next order or run`);
  return key;
}

/** Of several processes that create it at once, one wins. */
function createOrderKey(path: string): Uint8Array {
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${randomBytes(keyBytes).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true });
    publishKey(draft, path);
  } catch (error) {
    throw new RetinueError('usage', `orders cannot be given, because ${path} cannot be created: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    removeIfPossible(draft);
  }
  const key = readOrderKey(path);
  if (key === null) throw new RetinueError('usage', `${path} was removed while it was created; try again`);
  return key;
}

/** Never replaces a key: orders signed with it would be lost. */
function publishKey(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    // The file system has no hard links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw error;
    renameSync(draft, path);
  }
}
