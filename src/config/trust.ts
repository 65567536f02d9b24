// The user's list of trusted workspace files, by path and content. If the list itself is invalid or writable by others, nothing is trusted.
import { createHash } from 'node:crypto';
import { join, sep } from 'node:path';
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import { Hash, Instant } from '../contract/ids.ts';
import { readBytes } from './files.ts';
import { readOnce } from './read-once.ts';
import type { TrustItem, TrustState } from './settings.ts';
import { readUserFile, writeUserFile } from './user-file.ts';
import { type Env, userConfigFolder } from './user-folders.ts';

const maxBytes = 4_194_304;

const TrustFile = z.strictObject({
  version: z.literal(1),
  files: z.record(z.string(), z.strictObject({ hash: Hash, at: Instant })),
});
type TrustFile = z.infer<typeof TrustFile>;

export interface TrustList {
  state(path: string, hash: string): TrustState;
  /** Why the list could not be read, if so. */
  notices: string[];
}

/** Includes the path: the same content in another file is not trusted. */
export function hashFile(path: string, bytes: Uint8Array): string {
  return createHash('sha256').update(path).update('\0').update(bytes).digest('hex');
}

export function readTrust(env: Env): TrustList {
  const path = trustPath(env);
  let known: TrustFile['files'] = {};
  const notices: string[] = [];
  try {
    known = readTrustFile(path).files;
  } catch (error) {
    notices.push(`nothing is trusted: ${(error as Error).message}`);
  }
  return {
    state: (file, hash) => (Object.hasOwn(known, file) ? (known[file]?.hash === hash ? 'trusted' : 'changed') : 'untrusted'),
    notices,
  };
}

/** Every trusted file and its current state. */
export function listTrust(env: Env): { path: string; at: string; state: 'trusted' | 'changed' | 'gone' }[] {
  return Object.entries(readTrustFile(trustPath(env)).files).map(([path, { hash, at }]) => {
    const bytes = readBytes(path, maxBytes);
    return { path, at, state: bytes === null ? 'gone' : hashFile(path, bytes) === hash ? 'trusted' : 'changed' };
  });
}

/** Trusts the content that was shown: the hashes come from the bytes that the items were made from. */
export function addTrust(env: Env, items: Pick<TrustItem, 'path' | 'hash'>[], at: string): void {
  const path = trustPath(env);
  const { files } = readTrustFile(path);
  const added = Object.fromEntries(items.map((item) => [item.path, { hash: item.hash, at }]));
  writeUserFile(path, { version: 1, files: { ...files, ...added } } satisfies TrustFile);
}

/** Removes every file of a workspace from the list and returns their paths. */
export function revokeTrust(env: Env, workspace: string): string[] {
  const path = trustPath(env);
  const { files } = readTrustFile(path);
  const inside = Object.keys(files).filter((file) => file.startsWith(workspace.endsWith(sep) ? workspace : workspace + sep));
  if (inside.length === 0) return [];
  const remaining = Object.fromEntries(Object.entries(files).filter(([file]) => !inside.includes(file)));
  writeUserFile(path, { version: 1, files: remaining } satisfies TrustFile);
  return inside;
}

function trustPath(env: Env): string {
  return join(userConfigFolder(env), 'trusted.json');
}

function readTrustFile(path: string): TrustFile {
  const text = readUserFile(path, maxBytes);
  if (text === null) return { version: 1, files: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RetinueError('invalid_config', `${path} is not JSON; delete it and trust the files again`);
  }
  const parsed = TrustFile.safeParse(value, readOnce);
  if (!parsed.success)
    throw new RetinueError('invalid_config', `${path} is not a list of trusted files; delete it and trust the files again`);
  return parsed.data;
}
