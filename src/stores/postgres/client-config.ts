// How the client connects: address, password, TLS and the limits that the server enforces.
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ClientConfig } from 'pg';
import pg from 'pg';
import { RetinueError } from '../../contract/error.ts';
import type { Timing } from './options.ts';
import type { DatabaseAddress } from './url.ts';

type Env = Record<string, string | undefined>;

/** How much longer than the server the client waits for an answer, before it takes the connection for lost. */
const answerGraceMs = 5_000;
const keepAliveDelayMs = 10_000;
const int8 = 20;

/** Throws `usage` if a certificate cannot be read. */
export function createClientConfig(address: DatabaseAddress, timing: Timing, env: Env): ClientConfig {
  const { host, port, user, database, applicationName } = address;
  return {
    ...{ host, port, user, database, ssl: createTlsOptions(address) },
    password: () => address.password ?? readPasswordFile(address, env) ?? (undefined as unknown as string),
    application_name: applicationName ?? 'retinue',
    connectionTimeoutMillis: address.connectTimeoutMs ?? timing.connect,
    enableChannelBinding: address.needsChannelBinding,
    statement_timeout: timing.statement,
    lock_timeout: timing.lock,
    idle_in_transaction_session_timeout: timing.idleTransaction,
    query_timeout: timing.statement + answerGraceMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    // Statements are sent without waiting for the answers to earlier ones.
    pipeline: true,
    types: { getTypeParser: (oid: number, format?: 'text' | 'binary') => findTypeParser(oid, format) },
  } as ClientConfig;
}

/** Numbers of rows stay far below 2^53. */
function findTypeParser(oid: number, format: 'text' | 'binary' | undefined): (value: string) => unknown {
  return oid === int8 ? Number : (pg.types.getTypeParser(oid, format as 'text') as (value: string) => unknown);
}

function createTlsOptions({ sslMode, sslRootCert, sslCert, sslKey }: DatabaseAddress): ClientConfig['ssl'] {
  if (sslMode === 'disable') return false;
  const read = (path: string | null) => (path === null ? {} : { text: readPem(path) });
  const { text: ca } = read(sslRootCert);
  const { text: cert } = read(sslCert);
  const { text: key } = read(sslKey);
  // As in libpq, `require` with a root certificate verifies the certificate, but not the name of the host.
  const isVerified = sslMode !== 'require' || ca !== undefined;
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    rejectUnauthorized: isVerified,
    ...(sslMode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new RetinueError('usage', `${path}, which the address of the database names, cannot be read: ${(error as Error).message}`);
  }
}

/** The password in PGPASSFILE or ~/.pgpass, as psql finds it; null if there is none. A file that others can read is ignored. */
function readPasswordFile({ host, port, database, user }: DatabaseAddress, env: Env): string | null {
  const path = env.PGPASSFILE || join(env.HOME || homedir(), '.pgpass');
  let text: string;
  try {
    if ((statSync(path).mode & 0o077) !== 0) return null;
    text = readFileSync(path, 'utf8');
  } catch {
    return null;
  }
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    // Fields are separated by `:`; a backslash escapes `:` and itself.
    const fields = (line.match(/(?:[^:\\]|\\.)*(?::|$)/g) ?? []).map((field) => field.replace(/:$/, '').replace(/\\(.)/g, '$1'));
    if (fields.length >= 5 && wanted.every((value, index) => fields[index] === '*' || fields[index] === value)) return fields[4] as string;
  }
  return null;
}
