// Sends one GET without following redirects. The connection goes to an address that `allows` has accepted: the name is looked up once, while connecting, so
// a second lookup cannot give another address. Proxies and earlier connections are not used.
import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { createToolRefusal, findErrorCode, type Refusal } from '../refusal.ts';

export interface GetRequest {
  url: URL;
  headers: Record<string, string>;
  /** Whether a connection to this IP address is allowed. */
  allows(address: string): boolean;
  /** Looks up the addresses of a name. Defaults to the system. */
  resolve?: Resolve | undefined;
  signal: AbortSignal;
}

export type Resolve = (
  name: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

export type GetResult = { ok: true; response: IncomingMessage } | Refusal;

/** The caller reads or destroys the body of the response. Rejects only when the signal fires. */
export async function sendGet({ url, headers, allows, resolve = lookup, signal }: GetRequest): Promise<GetResult> {
  signal.throwIfAborted();
  const host = hostAddress(url);
  if (isIP(host) !== 0 && !allows(host)) return createToolRefusal(notPublicMessage(host, host));
  // Loaded on first use, so that it does not slow down the start.
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  try {
    const response = await new Promise<IncomingMessage>((resolveResponse, reject) => {
      const options = { agent: false as const, headers, lookup: createCheckedLookup(allows, resolve), signal };
      request(url, options, resolveResponse).once('error', reject).end();
    });
    // A reset while the body is not being read must not end the process; the reader of the body gets the error as well.
    response.on('error', () => {});
    return { ok: true, response };
  } catch (error) {
    signal.throwIfAborted();
    return createToolRefusal(describeRequestError(error, url));
  }
}

/** Why an address that is written as numbers would be refused, or null. Names are not looked up. */
export function previewAddress(text: string, allows: (address: string) => boolean): string | null {
  const url = URL.parse(text);
  const host = url === null ? '' : hostAddress(url);
  return isIP(host) === 0 || allows(host) ? null : notPublicMessage(host, host);
}

/** The host as an IP address or a name; IPv6 without brackets. URL has already normalised spellings such as 0x7f.1. */
function hostAddress(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

class NotPublicError extends Error {}

/** Every address of the name must be allowed: a single private one shows that the name is meant for a private network. */
function createCheckedLookup(allows: (address: string) => boolean, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const wrong = error ? undefined : found.find(({ address }) => !allows(address));
      const [first] = found ?? [];
      if (error || first === undefined) callback(error ?? new Error(`${hostname} has no address`), '', 4);
      else if (wrong) callback(new NotPublicError(notPublicMessage(hostname, wrong.address)), '', 4);
      else if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}

function notPublicMessage(host: string, address: string): string {
  const subject = host === address ? host : `${host} leads to ${address}, which`;
  return `refused: ${subject} is not a public address`;
}

function describeRequestError(error: unknown, url: URL): string {
  // If several addresses were tried, the first failure is reported.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  if (first instanceof NotPublicError) return first.message;
  switch (findErrorCode(first)) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${url.hostname} was not found`;
    case 'ECONNREFUSED':
      return `${url.host} does not accept connections`;
    case 'ECONNRESET':
    case 'EPIPE':
      return `${url.host} closed the connection`;
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `${url.host} cannot be reached`;
    default:
      return `${url.host}: ${(first as Error | undefined)?.message || findErrorCode(first) || 'the request failed'}`;
  }
}
