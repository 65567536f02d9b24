// Which databases this user has made here: a small file for each in the user's own folder, by place, inode and time of birth. A database may come
// with a cloned folder, and its unfinished runs would go on with the rights that are recorded in it. Whatever is odd about such a file means
// that its database is not known.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import { Instant } from '../contract/ids.ts';
import { type Env, ownFolder } from './config/places.ts';
import { readOwn, writeOwn } from './own-file.ts';

const maxBytes = 65_536;
/** One that is not there yet may be about to get its name. */
const pruneAfterMs = 3_600_000;

const Entry = z.strictObject({ version: z.literal(1), path: z.string(), inode: z.string(), born: z.string(), at: Instant });
type Entry = z.infer<typeof Entry>;
type Identity = Pick<Entry, 'path' | 'inode' | 'born'>;

/**
 * Remembers a database that is being made: `draft` is the file, which is then given the name `path`. Where it cannot be remembered the
 * database is made all the same; it is only not known.
 */
export function rememberMade(env: Env, draft: string, path: string): void {
  try {
    remember(env, identityOf(draft, join(realpathSync(dirname(path)), basename(path))));
  } catch {
    // `retinue resume` says so.
  }
}

/** Takes a database that is there for one's own. Throws `usage` where that cannot be kept. */
export function adopt(env: Env, path: string): void {
  remember(env, identityOf(path, realpathSync(path)));
}

export function isMadeHere(env: Env, path: string): boolean {
  try {
    const identity = identityOf(path, realpathSync(path));
    const entry = entryIn(fileOf(env, identity));
    return entry !== null && entry.path === identity.path && entry.inode === identity.inode && entry.born === identity.born;
  } catch {
    return false;
  }
}

/** Throws `usage`, and says how to look and how to go on. */
export function assertMadeHere(env: Env, path: string): void {
  if (isMadeHere(env, path)) return;
  throw new RetinueError(
    'usage',
    `the database ${path} was not made here: it may have come with the folder, and its runs would go on with the rights and the agents that are ` +
      `recorded in it. Nothing was started. Look at them with \`retinue ps\` and \`retinue show ID\`; \`retinue resume --adopt\` goes on ` +
      `and takes the database for yours (kept in ${folderOf(env)})`,
  );
}

function remember(env: Env, identity: Identity): void {
  writeOwn(fileOf(env, identity), { version: 1, ...identity, at: new Date().toISOString() });
  prune(env);
}

/** What is known of files that are gone goes too: their inodes are given to others. */
function prune(env: Env): void {
  const folder = folderOf(env);
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const entry = entryIn(file);
    if (entry && Date.parse(entry.at) + pruneAfterMs < Date.now() && !existsSync(entry.path)) rmSync(file, { force: true });
  }
}

function entryIn(file: string): Entry | null {
  try {
    const text = readOwn(file, maxBytes);
    return text === null ? null : Entry.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function identityOf(file: string, path: string): Identity {
  const { ino, birthtimeNs } = statSync(file, { bigint: true });
  return { path, inode: String(ino), born: String(birthtimeNs) };
}

function fileOf(env: Env, { path, inode, born }: Identity): string {
  return join(
    folderOf(env),
    `${createHash('sha256')
      .update(JSON.stringify([path, inode, born]))
      .digest('hex')}.json`,
  );
}

function folderOf(env: Env): string {
  return join(ownFolder(env), 'databases');
}
