// The databases of this user's workspaces, so that `retinue ps --everywhere` and the server find all runs. A list in the user's configuration folder,
// which no tool can reach. It is a convenience, never a proof: a database from it is opened only if the user created or adopted it
// (database-origin.ts). A list that cannot be read counts as empty, and the next command that writes to a database replaces it.
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { Instant } from '../contract/ids.ts';
import { isInside } from './files.ts';
import { readOnce } from './read-once.ts';
import type { Settings } from './settings.ts';
import { readUserFile, writeUserFile } from './user-file.ts';
import { type Env, userConfigFolder } from './user-folders.ts';

const maxBytes = 4_194_304;
const maxDatabases = 200;
/** How long another process may hold the lock; it needs milliseconds. */
const staleLockMs = 10_000;
const lockTries = 50;
const lockRetryMs = 20;

const RegisteredDatabase = z.strictObject({ db: z.string(), workspace: z.string(), usedAt: Instant });
/** `db` and `workspace` are real paths. `usedAt`: accurate to the day. */
export type RegisteredDatabase = z.infer<typeof RegisteredDatabase>;
const RegistryFile = z.strictObject({ version: z.literal(1), databases: z.array(RegisteredDatabase) });

/** Databases that exist, the last used first. */
export function listDatabases(env: Env): RegisteredDatabase[] {
  return readRegistry(env).filter(({ db }) => existsSync(db));
}

/** A short id for requests and links. */
export function databaseId(db: string): string {
  return createHash('sha256').update(db).digest('hex').slice(0, 12);
}

/**
 * Adds the database of a command that writes to it. Writes at most once a day and workspace. Never rejects: a command works without the list. A
 * database that was named and is in a temporary folder is left out; demos and experiments put theirs there.
 */
export async function registerDatabase(env: Env, { db, workspace }: Pick<Settings, 'db' | 'workspace'>, now: Date): Promise<void> {
  try {
    // A server has the runs of many workspaces, and its password is not ours to keep.
    if (db.kind === 'server' || !existsSync(db.path)) return;
    const entry = { db: realpathSync(db.path), workspace, usedAt: now.toISOString() };
    if (db.from !== 'built-in' && isTemporary(env, entry.db)) return;
    if (readRegistry(env).some((known) => isCurrent(known, entry))) return;
    await withLock(`${registryPath(env)}.lock`, () => {
      const others = listDatabases(env).filter((known) => known.db !== entry.db);
      writeUserFile(registryPath(env), { version: 1, databases: [entry, ...others].slice(0, maxDatabases) });
    });
  } catch {
    // The next command tries again.
  }
}

function isCurrent(known: RegisteredDatabase, entry: RegisteredDatabase): boolean {
  return known.db === entry.db && known.workspace === entry.workspace && known.usedAt.slice(0, 10) === entry.usedAt.slice(0, 10);
}

function isTemporary(env: Env, path: string): boolean {
  return [env.TMPDIR || '/tmp', '/tmp', '/var/tmp']
    .filter((folder) => existsSync(folder))
    .some((folder) => isInside(realpathSync(folder), path));
}

function readRegistry(env: Env): RegisteredDatabase[] {
  try {
    const { databases } = RegistryFile.parse(JSON.parse(readUserFile(registryPath(env), maxBytes) ?? ''), readOnce);
    return databases.sort((a, b) => (a.usedAt < b.usedAt ? 1 : -1));
  } catch {
    return [];
  }
}

function registryPath(env: Env): string {
  return join(userConfigFolder(env), 'workspaces.json');
}

/** Does nothing if others hold the lock all the time. */
async function withLock(lock: string, change: () => void): Promise<void> {
  mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
  for (let tries = 0; tries < lockTries; tries++) {
    if (takeLock(lock)) {
      try {
        change();
      } finally {
        rmSync(lock, { force: true });
      }
      return;
    }
    await sleep(lockRetryMs);
  }
}

/** A process that died left its lock behind. */
function takeLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const held = statSync(lock, { throwIfNoEntry: false });
    if (held && Math.abs(Date.now() - held.mtimeMs) > staleLockMs) rmSync(lock, { force: true });
    return false;
  }
}
