// Errors of PostgreSQL and of the connection to it, and their conversion into errors of the store port.
import { isRetinueError, RetinueError } from '../../contract/error.ts';
import { type DatabaseAddress, describeAddress } from './url.ts';

/** What the server reported (https://www.postgresql.org/docs/current/errcodes-appendix.html); null for any other error. */
export function getSqlState(error: unknown): string | null {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && typeof severity === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** The connection was lost, or could not be made: what happened on the server is not known. */
export function isConnectionLoss(error: unknown): boolean {
  const state = getSqlState(error);
  if (state !== null) {
    // Also: the server shuts down (57P01, 57P02), starts (57P03), ended an idle session (57P05, 25P03), or is a standby by now (25006).
    return state.startsWith('08') || ['57P01', '57P02', '57P03', '57P05', '25P03', '25006'].includes(state);
  }
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && lostCodes.has(code)) return true;
  return typeof message === 'string' && lostMessages.some((each) => message.includes(each));
}

const lostCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'ENOENT', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'],
]);
/** Of the client, which has no codes for them. */
const lostMessages = [
  ...['Connection terminated', 'Query read timeout', 'timeout expired', 'is not queryable', 'Client was closed'],
  'Received unexpected',
];

/** Something else held a lock or all connections: the same call may succeed later. */
export function isBusy(error: unknown): boolean {
  const state = getSqlState(error);
  // Lock timeout, serialization failure, deadlock, too many connections, out of some resource.
  if (state !== null) return ['55P03', '40001', '40P01', '53300', '53400', '55006'].includes(state);
  return (error as { message?: unknown }).message === 'timeout exceeded when trying to connect';
}

/** Two transactions wrote the same key at once. The checks of a retry find the key. */
export function isKeyConflict(error: unknown): boolean {
  return getSqlState(error) === '23505';
}

export function createClosedError(): RetinueError {
  return new RetinueError('store_io', 'The store is closed.');
}

/** Converts an error into one that the port allows. */
export function toStoreError(error: unknown, address: DatabaseAddress): RetinueError {
  if (isRetinueError(error)) return error;
  const name = describeAddress(address);
  const reason = describeReason(error, address);
  const io = (advice: string, retryable: boolean) =>
    new RetinueError('store_io', `The database ${name} failed: ${reason}. ${advice}`, { retryable, cause: error });
  if (isBusy(error))
    return new RetinueError('store_busy', `The database ${name} is busy: ${reason}. Try again when other processes have finished.`, {
      retryable: true,
      cause: error,
    });
  if (isConnectionLoss(error)) return io('Check that the server runs and can be reached.', true);
  const state = getSqlState(error);
  if (state === null) return new RetinueError('internal', `A call on the database ${name} failed: ${reason}`, { cause: error });
  if (state === '57014')
    return new RetinueError('store_busy', `The database ${name} took too long: ${reason}.`, { retryable: true, cause: error });
  if (state === '42501') return io('Give this user the right to read and write the tables of Retinue.', true);
  if (state === '53100') return io('Free some disk space on the server.', true);
  if (state.startsWith('53') || state.startsWith('58')) return io('Check the server.', true);
  if (state.startsWith('XX'))
    return new RetinueError('store_corrupt', `The database ${name} is damaged: ${reason}. Restore a backup, or choose another database.`, {
      cause: error,
    });
  // A table, column, function or schema is missing.
  if (['42P01', '42703', '42883', '3F000'].includes(state))
    return new RetinueError('store_corrupt', `The tables in the database ${name} are not those of Retinue: ${reason}.`, { cause: error });
  return io('This is an unexpected error.', false);
}

/** The reason without the password, should any message ever contain it. */
function describeReason(error: unknown, { password }: DatabaseAddress): string {
  const reason = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
  return password === null || password.length < 4 ? reason : reason.replaceAll(password, '***');
}

/** For the first connection: what to change, as `usage`. Errors that may pass by themselves stay errors of the store. */
export function toOpenError(error: unknown, address: DatabaseAddress): RetinueError {
  if (isRetinueError(error)) return error;
  const advice = describeOpenProblem(error, address);
  return advice === null ? toStoreError(error, address) : new RetinueError('usage', advice, { cause: error });
}

function describeOpenProblem(error: unknown, address: DatabaseAddress): string | null {
  const { host, port, user, database } = address;
  const name = describeAddress(address);
  const { code, message = '' } = error as { code?: string; message?: string };
  switch (code) {
    case '28P01':
      return `the server of ${name} refused the password of user \`${user}\`; correct it in the address of the database or in PGPASSWORD`;
    case '28000':
      return `the server of ${name} does not let user \`${user}\` in; create the user, or allow it in pg_hba.conf`;
    case '3D000':
      return `there is no database \`${database}\` on the server ${host}:${port}; create it with \`createdb ${database}\`, or choose another one`;
    case '42501':
      return `user \`${user}\` may not create or use the tables of Retinue in ${name}; run \`GRANT CREATE ON DATABASE ${quoteName(database)} TO ${quoteName(user)}\` as its owner`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host \`${host}\` of ${name} cannot be found; check the address`;
    case 'ECONNREFUSED':
    case 'ENOENT':
      return `no PostgreSQL server answers at ${host}:${port}; start it, or check host and port of ${name}`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return `the server of ${name} cannot be reached (${code}); check host, port and firewall`;
  }
  if (message.includes('timeout')) return `the server of ${name} did not answer in time; check host, port and firewall`;
  if (message.includes('client password must be') || message.includes('no password supplied'))
    return `the server of ${name} asks for a password; give it in RETINUE_DB, PGPASSWORD or ~/.pgpass`;
  if (message.includes('does not offer channel binding'))
    return `the server of ${name} does not offer channel binding, which needs a password of the kind scram-sha-256; leave out \`channel_binding=require\` to do without`;
  if (message.includes('does not support SSL')) return `the server of ${name} has no TLS; enable it, or use \`sslmode=disable\``;
  if (isCertificateProblem(code))
    return `the certificate of the server of ${name} was not accepted (${code}); check sslmode and sslrootcert`;
  if (message.includes('establishing an SSL connection') || message.includes('Received unexpected'))
    return `what answers at ${host}:${port} is not a PostgreSQL server; check host and port of ${name}`;
  return null;
}

/** For a user who may not create or use the schema of the queue. */
export function describeMissingRight(address: DatabaseAddress, schema: string): string {
  const [user, database] = [quoteName(address.user), quoteName(address.database)];
  return (
    `user \`${address.user}\` may not create or use the schema \`${schema}\` of the queue in ${describeAddress(address)}; ` +
    `run \`GRANT CREATE ON DATABASE ${database} TO ${user}\` or \`CREATE SCHEMA ${schema} AUTHORIZATION ${user}\` as its owner`
  );
}

function isCertificateProblem(code: string | undefined): boolean {
  return code !== undefined && /CERT|UNABLE_TO|SELF_SIGNED|ALTNAME|^ERR_SSL/.test(code);
}

function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
