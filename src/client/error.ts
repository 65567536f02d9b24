// Errors of the client. They pass `isRetinueError`, but this file loads no schema library: the client also runs in browsers.
import type { ErrorInfo } from '../contract/error.ts';

const marker = Symbol.for('retinue.error');

export interface RemoteErrorOptions {
  /** Of the answer; absent if there was none. */
  status?: number | undefined;
  retryable?: boolean | undefined;
  cause?: unknown;
}

/**
 * `code` is the server's own (see `ErrorCode` of the main package, and `unauthorized`, `forbidden` and others of the HTTP API), or one of the client:
 * `unreachable` (no answer), `not_retinue` (the answer is not from a Retinue server) or `usage`.
 */
export class RemoteError extends Error {
  readonly code: string;
  readonly status: number | null;
  /** The same request may succeed later. */
  readonly retryable: boolean;
  readonly [marker] = true;

  constructor(code: string, message: string, { status, retryable, cause }: RemoteErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RemoteError';
    this.code = code;
    this.status = status ?? null;
    this.retryable = retryable ?? false;
  }

  get info(): Omit<ErrorInfo, 'code'> & { code: string } {
    return { code: this.code, message: this.message, retryable: this.retryable };
  }
}

export function isRemoteError(value: unknown): value is RemoteError {
  return value instanceof RemoteError;
}

/** Why `fetch` failed, as a sentence with advice. */
export function unreachableError(url: string, error: unknown): RemoteError {
  return new RemoteError('unreachable', `cannot reach the server at ${url}: ${describeCause(error)}`, { retryable: true, cause: error });
}

function describeCause(error: unknown): string {
  const { cause } = error as { cause?: { code?: string; message?: string } };
  const code = cause?.code ?? '';
  if (code === 'ECONNREFUSED') return 'the connection was refused; check the address, and that `retinue serve` runs there';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its name cannot be resolved; check the address and the network';
  if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') return 'it did not answer in time; check the address and the network';
  if (/SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/.test(code))
    return `its certificate is not trusted (${code}); set NODE_EXTRA_CA_CERTS to a file with the certificate`;
  if (/CERT|TLS/.test(code)) return `its certificate is not valid for this address (${code})`;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO')
    return 'it does not speak TLS; check whether the address begins with http:// or https://';
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET' || code === 'EPIPE')
    return 'the connection was cut; check whether the address begins with http:// or https://';
  const message = cause?.message ?? (error as Error | null)?.message ?? '';
  return message === '' || /^(fetch failed|failed to fetch|load failed)$/i.test(message)
    ? 'check the address, and that the server runs'
    : message;
}
