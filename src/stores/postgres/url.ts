// Addresses of PostgreSQL databases. Nothing here loads the client, so that settings can be read without it.
import { RetinueError } from '../../contract/error.ts';
import { unknownNameMessage } from '../../text/suggest.ts';

export interface DatabaseAddress {
  /** A host name, an address or the folder of a Unix socket. */
  host: string;
  port: number;
  database: string;
  user: string;
  /** Null if it comes from PGPASSWORD or a password file, or if none is needed. */
  password: string | null;
  sslMode: SslMode;
  /** Paths of PEM files. */
  sslRootCert: string | null;
  sslCert: string | null;
  sslKey: string | null;
  applicationName: string | null;
  /** How long a connection may take to be made; null for the default. */
  connectTimeoutMs: number | null;
  /** Refuse servers that do not prove with the password exchange that the TLS connection ends at them. */
  needsChannelBinding: boolean;
}

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof sslModes)[number];

const parameters = [
  ...['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'],
  ...['application_name', 'connect_timeout', 'channel_binding'],
];
const form = 'postgres://user@host:5432/database';
const defaultPort = 5432;
const channelBindings = ['disable', 'prefer', 'require'];
const maxConnectSeconds = 600;

/** Whether a database setting names a server and not a file. Also true for a malformed address. */
export function isDatabaseUrl(text: string): boolean {
  return /^postgres(ql)?:/i.test(text);
}

/** Whether a database setting is the address of something else, such as `mysql://…` or `jdbc:postgresql://…`. One letter is a drive, not a scheme. */
export function isForeignUrl(text: string): boolean {
  return !isDatabaseUrl(text) && /^[\s"'<]*(?:[a-z][\w+.-]+:\/|(?:[a-z][\w+.-]*:)+\/\/)/i.test(text);
}

export function isWellFormedUrl(text: string): boolean {
  try {
    parseDatabaseUrl(text);
    return true;
  } catch {
    return false;
  }
}

export function hasPassword(text: string): boolean {
  return (URL.parse(text)?.password ?? '') !== '';
}

/** Throws `usage` with what is wrong. No message contains the password. */
export function parseDatabaseUrl(text: string, env: Record<string, string | undefined> = {}): DatabaseAddress {
  const url = parseUrl(text);
  const query = url.searchParams;
  for (const name of query.keys()) {
    if (!parameters.includes(name)) throw createUrlError(unknownNameMessage('parameter', name, parameters));
  }
  const decode = (part: string, what: string) => {
    try {
      return decodeURIComponent(part);
    } catch {
      throw createUrlError(`its ${what} has a \`%\` that does not begin an escape; write it as \`%25\``);
    }
  };
  const user = decode(url.username, 'user name') || env.PGUSER || env.USER || env.LOGNAME || 'postgres';
  const host = query.get('host') ?? (decode(url.hostname.replace(/^\[(.*)\]$/, '$1'), 'host') || env.PGHOST || 'localhost');
  const path = decode(url.pathname.replace(/^\//, ''), 'database');
  if (path.includes('/')) throw createUrlError('the path is the name of the database, without `/`');
  const port = url.port === '' ? Number(env.PGPORT || defaultPort) : Number(url.port);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw createUrlError('its port is not a number from 1 to 65535');
  const sslMode = parseSslMode(query.get('sslmode') ?? env.PGSSLMODE);
  return {
    host,
    port,
    user,
    database: path || env.PGDATABASE || user,
    password: decode(url.password, 'password') || env.PGPASSWORD || null,
    sslMode,
    sslRootCert: query.get('sslrootcert') ?? env.PGSSLROOTCERT ?? null,
    sslCert: query.get('sslcert'),
    sslKey: query.get('sslkey'),
    applicationName: query.get('application_name'),
    connectTimeoutMs: parseConnectTimeout(query.get('connect_timeout') ?? env.PGCONNECT_TIMEOUT),
    needsChannelBinding: parseChannelBinding(query.get('channel_binding') ?? env.PGCHANNELBINDING, sslMode),
  };
}

/** An address for messages: without password and parameters. */
export function describeAddress({ host, port, user, database }: DatabaseAddress): string {
  const shown = host.startsWith('/') ? encodeURIComponent(host) : host.includes(':') ? `[${host}]` : host;
  return `postgres://${encodeURIComponent(user)}@${shown}:${port}/${encodeURIComponent(database)}`;
}

/** The same for a setting that may be malformed. */
export function describeDatabaseUrl(text: string, env: Record<string, string | undefined> = {}): string {
  try {
    return describeAddress(parseDatabaseUrl(text, env));
  } catch {
    return 'postgres://(malformed)';
  }
}

function parseUrl(text: string): URL {
  try {
    const url = new URL(text);
    // An `@` after the host: a password with an unescaped character was cut there, and its rest must not be shown.
    const isWhole = !`${url.pathname}${url.search}${url.hash}`.includes('@') && url.hash === '';
    if (isWhole && /^postgres(ql)?:\/\//i.test(text)) return url;
  } catch {
    // Its message would contain the whole address.
  }
  const advice = text.includes('@') ? '; in a user name or password, escape `@ : / ? # %` as `%40 %3A %2F %3F %23 %25`' : '';
  throw createUrlError(`it does not have the form \`${form}\`${advice}`);
}

/** Of libpq's modes, those that mean the same on every connection. Without a mode the connection is not encrypted. */
function parseSslMode(given: string | null | undefined): SslMode {
  if (!given) return 'disable';
  const mode = sslModes.find((each) => each === given);
  if (mode !== undefined) return mode;
  if (given === 'allow' || given === 'prefer')
    throw createUrlError(
      `\`sslmode=${given}\` may fall back to an unencrypted connection; use \`disable\`, \`require\` or \`verify-full\``,
    );
  throw createUrlError(unknownNameMessage('sslmode', given, [...sslModes]));
}

/** As in libpq: seconds, at least two. Zero, which means no limit there, is the default here. */
function parseConnectTimeout(given: string | null | undefined): number | null {
  if (!given) return null;
  const seconds = Number(given);
  if (!/^\d+$/.test(given) || seconds > maxConnectSeconds)
    throw createUrlError(`\`connect_timeout\` is not a whole number of seconds, at most ${maxConnectSeconds}`);
  return seconds === 0 ? null : Math.max(2, seconds) * 1000;
}

/** `prefer` and `disable` accept every server. */
function parseChannelBinding(given: string | null | undefined, sslMode: SslMode): boolean {
  if (given && !channelBindings.includes(given)) throw createUrlError(unknownNameMessage('channel_binding', given, channelBindings));
  if (given === 'require' && sslMode === 'disable')
    throw createUrlError('`channel_binding=require` needs an encrypted connection; add `sslmode=require` or `sslmode=verify-full`');
  return given === 'require';
}

function createUrlError(problem: string): RetinueError {
  return new RetinueError('usage', `the address of the database is not valid: ${problem}`);
}
