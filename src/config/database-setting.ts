// Where runs are stored: a SQLite file, or a PostgreSQL server.
import { RetinueError } from '../contract/error.ts';
import { describeDatabaseUrl, isDatabaseUrl, isForeignUrl, parseDatabaseUrl } from '../stores/postgres/url.ts';
import type { Env } from './user-folders.ts';

export type DatabaseTarget =
  /** An absolute path. */
  | { kind: 'file'; path: string }
  /** An address that may contain a password: show `DatabaseSetting.shown` instead. */
  | { kind: 'server'; url: string };

export type DatabaseSetting = DatabaseTarget & {
  /** For messages and lists: the path, or the address without the password. */
  shown: string;
  /** `built-in`, a file, a variable or a flag. */
  from: string;
  /** Accept a file that the user did not create on this machine, and runs that another program changed. */
  adopt: boolean;
};

/** Throws `usage` for an address of something else than PostgreSQL, which is not shown: it may contain a password. */
export function assertNoForeignUrl(text: string, from: string): void {
  if (isForeignUrl(text))
    throw new RetinueError(
      'usage',
      `${from} is an address that does not begin with \`postgres://\`; write \`postgres://user@host:5432/database\`, or put \`./\` before the name of a file`,
    );
}

/** Throws `usage` for a malformed address. `env`: gives what the address leaves out. */
export function createServerSetting(url: string, { from, adopt, env }: { from: string; adopt: boolean; env: Env }): DatabaseSetting {
  parseDatabaseUrl(url, env);
  return { kind: 'server', url, shown: describeDatabaseUrl(url, env), from, adopt };
}

export function createFileSetting(path: string, { from, adopt }: { from: string; adopt: boolean }): DatabaseSetting {
  return { kind: 'file', path, shown: path, from, adopt };
}

/** The file that tools may not touch; null for a server. */
export function databaseFile(db: DatabaseTarget): string | null {
  return db.kind === 'file' ? db.path : null;
}

/** Texts that must not appear in facts: the password as it is, and as the address has it. */
export function databaseSecrets(db: DatabaseTarget): string[] {
  if (db.kind === 'file') return [];
  const { password } = parseDatabaseUrl(db.url);
  return password === null ? [] : [...new Set([password, new URL(db.url).password])];
}

export { isDatabaseUrl };
