// Records which databases this user created on this machine, one small file each in the user's configuration folder, by path, inode and
// creation time. A database may arrive with a cloned folder. Its content would answer questions and steer runs, and its runs have the rights
// recorded in it, so nothing is written to it and nothing is driven from it unless the user adopts it. A record that cannot be read counts as
// missing.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import { Instant } from '../contract/ids.ts';
import { readOnce } from './read-once.ts';
import { readUserFile, writeUserFile } from './user-file.ts';
import { type Env, userConfigFolder } from './user-folders.ts';

const maxBytes = 65_536;
/** A record is written before its database gets its final name, so a young record without a file is kept. */
const pruneAfterMs = 3_600_000;

const FileIdentity = z.strictObject({ inode: z.string(), born: z.string() });
type FileIdentity = z.infer<typeof FileIdentity>;
/** `log`: the write-ahead log that Retinue last created beside it. */
const DatabaseRecord = z.strictObject({
  version: z.literal(1),
  path: z.string(),
  ...FileIdentity.shape,
  log: FileIdentity.nullable(),
  at: Instant,
});
type DatabaseRecord = z.infer<typeof DatabaseRecord>;
type Identity = FileIdentity & { path: string };

/**
 * Records a database that is being created: `draft` is its current file, `path` its final name. If the record cannot be written, the
 * database is created anyway, and later commands ask for `--adopt`. Returns the reason then, otherwise null.
 */
export function recordCreatedDatabase(env: Env, draft: string, path: string): string | null {
  try {
    writeRecord(env, identify(draft, join(realpathSync(dirname(path)), basename(path))), null);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Records an existing database as the user's. Throws `usage` if the record cannot be written. */
export function adoptDatabase(env: Env, path: string): void {
  writeRecord(env, identify(path, realpathSync(path)), identifyLog(path));
}

/**
 * Records the write-ahead log of a recorded database, before anything is in it. SQLite would take over whatever is in a log that somebody puts beside
 * a closed database. If the record cannot be written, a log that a crash leaves behind makes the database one that has to be adopted.
 */
export function recordLog(env: Env, path: string): void {
  try {
    const identity = identify(path, realpathSync(path));
    const [found, log] = [readRecord(recordPath(env, identity)), identifyLog(path)];
    if (found !== null && log !== null && !isSameFile(found.log, log)) writeRecord(env, identity, log);
  } catch {
    // See above.
  }
}

export function isOwnDatabase(env: Env, path: string): boolean {
  try {
    const identity = identify(path, realpathSync(path));
    const found = readRecord(recordPath(env, identity));
    if (found === null || found.path !== identity.path || !isSameFile(found, identity)) return false;
    const log = identifyLog(path);
    return log === null || log.isEmpty || isSameFile(found.log, log);
  } catch {
    return false;
  }
}

/** For a command that would write to a database which is not the user's: how to inspect it and how to adopt it. */
export function createForeignDatabaseError(env: Env, path: string): RetinueError {
  return new RetinueError(
    'usage',
    `the database ${path} was not created by you on this machine. It may have come with the folder: what it contains would steer and answer ` +
      `for your runs, and its own runs have the rights and agents recorded in it. Nothing was written or started. Inspect it with ` +
      `\`retinue ps --all\`, \`retinue show ID\` and \`retinue verify\`. Add --adopt (in a program: \`adopt: true\`) ` +
      `to use it from now on (recorded in ${recordFolder(env)}), or choose another database with --db`,
  );
}

function writeRecord(env: Env, { path, inode, born }: Identity, log: FileIdentity | null): void {
  const identity = { path, inode, born };
  const value: DatabaseRecord = { version: 1, ...identity, log: log && { inode: log.inode, born: log.born }, at: new Date().toISOString() };
  writeUserFile(recordPath(env, identity), value);
  pruneRecords(env);
}

/** Removes records of deleted databases: the system reuses their inodes. */
function pruneRecords(env: Env): void {
  const folder = recordFolder(env);
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const found = readRecord(file);
    if (found && Date.parse(found.at) + pruneAfterMs < Date.now() && !existsSync(found.path)) rmSync(file, { force: true });
  }
}

function readRecord(file: string): DatabaseRecord | null {
  try {
    const text = readUserFile(file, maxBytes);
    return text === null ? null : DatabaseRecord.parse(JSON.parse(text), readOnce);
  } catch {
    return null;
  }
}

function identify(file: string, path: string): Identity {
  const { ino, birthtimeNs } = statSync(file, { bigint: true });
  return { path, inode: String(ino), born: String(birthtimeNs) };
}

/** Null if there is no write-ahead log. */
function identifyLog(path: string): (FileIdentity & { isEmpty: boolean }) | null {
  const found = statSync(`${realpathSync(path)}-wal`, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : { inode: String(found.ino), born: String(found.birthtimeNs), isEmpty: found.size === 0n };
}

function isSameFile(one: FileIdentity | null, other: FileIdentity): boolean {
  return one !== null && one.inode === other.inode && one.born === other.born;
}

function recordPath(env: Env, { path, inode, born }: Identity): string {
  const key = JSON.stringify([path, inode, born]);
  return join(recordFolder(env), `${createHash('sha256').update(key).digest('hex')}.json`);
}

function recordFolder(env: Env): string {
  return join(userConfigFolder(env), 'databases');
}
