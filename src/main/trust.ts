// Which files of which workspaces the user trusts: by path and content, in the user's own folder. Whatever is odd about that file
// means that nothing is trusted.
import { createHash } from 'node:crypto';
import { join, sep } from 'node:path';
import { z } from 'zod';
import type { TrustItem, TrustState } from '../cli/settings.ts';
import { RetinueError } from '../contract/error.ts';
import { Hash, Instant } from '../contract/ids.ts';
import { readBytes } from './config/files.ts';
import { type Env, ownFolder } from './config/places.ts';
import { readOwn, writeOwn } from './own-file.ts';

const maxBytes = 4_194_304;

const TrustFile = z.strictObject({
  version: z.literal(1),
  files: z.record(z.string(), z.strictObject({ hash: Hash, at: Instant })),
});
type TrustFile = z.infer<typeof TrustFile>;

export interface Trust {
  /** `changed`: another content of this file was trusted once. */
  state(path: string, hash: string): TrustState;
  /** Said where the user's list could not be read. */
  notices: string[];
}

/** Path and content together: the same text elsewhere is not trusted. */
export function hashOf(path: string, bytes: Uint8Array): string {
  return createHash('sha256').update(path).update('\0').update(bytes).digest('hex');
}

export function readTrust(env: Env): Trust {
  const path = trustPath(env);
  let known: TrustFile['files'] = {};
  const notices: string[] = [];
  try {
    known = read(path).files;
  } catch (error) {
    notices.push(`nothing is trusted: ${(error as Error).message}`);
  }
  return {
    state: (file, hash) => (Object.hasOwn(known, file) ? (known[file]?.hash === hash ? 'trusted' : 'changed') : 'untrusted'),
    notices,
  };
}

/** What is trusted on this machine, and how those files are now. */
export function listTrust(env: Env): { path: string; at: string; state: 'trusted' | 'changed' | 'gone' }[] {
  return Object.entries(read(trustPath(env)).files).map(([path, { hash, at }]) => {
    const bytes = readBytes(path, maxBytes);
    return { path, at, state: bytes === null ? 'gone' : hashOf(path, bytes) === hash ? 'trusted' : 'changed' };
  });
}

/** Trusts what was shown: the hashes are of the bytes that the items were made from. */
export function addTrust(env: Env, items: Pick<TrustItem, 'path' | 'hash'>[], at: string): void {
  const path = trustPath(env);
  const { files } = read(path);
  const added = Object.fromEntries(items.map((item) => [item.path, { hash: item.hash, at }]));
  writeOwn(path, { version: 1, files: { ...files, ...added } } satisfies TrustFile);
}

/** Takes back the trust in every file of a workspace; the paths that had it. */
export function revokeTrust(env: Env, workspace: string): string[] {
  const path = trustPath(env);
  const { files } = read(path);
  const inside = Object.keys(files).filter((file) => file.startsWith(workspace.endsWith(sep) ? workspace : workspace + sep));
  if (inside.length === 0) return [];
  const left = Object.fromEntries(Object.entries(files).filter(([file]) => !inside.includes(file)));
  writeOwn(path, { version: 1, files: left } satisfies TrustFile);
  return inside;
}

function trustPath(env: Env): string {
  return join(ownFolder(env), 'trusted.json');
}

function read(path: string): TrustFile {
  const text = readOwn(path, maxBytes);
  if (text === null) return { version: 1, files: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RetinueError('invalid_config', `${path} is not JSON; delete it and trust again`);
  }
  const parsed = TrustFile.safeParse(value);
  if (!parsed.success) throw new RetinueError('invalid_config', `${path} is no list of trusted files; delete it and trust again`);
  return parsed.data;
}
