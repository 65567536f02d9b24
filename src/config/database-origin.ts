// Records which databases this user created on this machine, one small file each in the user's configuration folder, by path, inode and
// creation time. A database may arrive with a cloned folder, and resuming its runs would use the rights recorded in it. A record that
// cannot be read counts as missing.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import { Instant } from '../contract/ids.ts';
import { readUserFile, writeUserFile } from './user-file.ts';
import { type Env, userConfigFolder } from './user-folders.ts';

const maxBytes = 65_536;
/** A record is written before its database gets its final name, so a young record without a file is kept. */
const pruneAfterMs = 3_600_000;

const DatabaseRecord = z.strictObject({ version: z.literal(1), path: z.string(), inode: z.string(), born: z.string(), at: Instant });
type DatabaseRecord = z.infer<typeof DatabaseRecord>;
type Identity = Pick<DatabaseRecord, 'path' | 'inode' | 'born'>;

/**
 * Records a database that is being created: `draft` is its current file, `path` its final name. If the record cannot be written, the
 * database is created anyway and `retinue resume` asks for `--adopt` later.
 */
export function recordCreatedDatabase(env: Env, draft: string, path: string): void {
  try {
    record(env, identify(draft, join(realpathSync(dirname(path)), basename(path))));
  } catch {
    // See above.
  }
}

/** Records an existing database as the user's. Throws `usage` if the record cannot be written. */
export function adoptDatabase(env: Env, path: string): void {
  record(env, identify(path, realpathSync(path)));
}

export function isOwnDatabase(env: Env, path: string): boolean {
  try {
    const identity = identify(path, realpathSync(path));
    const found = readRecord(recordPath(env, identity));
    return found !== null && found.path === identity.path && found.inode === identity.inode && found.born === identity.born;
  } catch {
    return false;
  }
}

/** Throws `usage`, with how to inspect the database and how to adopt it. */
export function assertOwnDatabase(env: Env, path: string): void {
  if (isOwnDatabase(env, path)) return;
  throw new RetinueError(
    'usage',
    `the database ${path} was not created by you on this machine. It may have come with the folder, and its runs would continue with the ` +
      `rights and agents recorded in it. Nothing was started. Inspect the runs with \`retinue ps\` and \`retinue show ID\`; ` +
      `\`retinue resume --adopt\` continues them and records the database as yours (in ${recordFolder(env)})`,
  );
}

function record(env: Env, identity: Identity): void {
  writeUserFile(recordPath(env, identity), { version: 1, ...identity, at: new Date().toISOString() });
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
    return text === null ? null : DatabaseRecord.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function identify(file: string, path: string): Identity {
  const { ino, birthtimeNs } = statSync(file, { bigint: true });
  return { path, inode: String(ino), born: String(birthtimeNs) };
}

function recordPath(env: Env, { path, inode, born }: Identity): string {
  const key = JSON.stringify([path, inode, born]);
  return join(recordFolder(env), `${createHash('sha256').update(key).digest('hex')}.json`);
}

function recordFolder(env: Env): string {
  return join(userConfigFolder(env), 'databases');
}
