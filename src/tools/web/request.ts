import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { codeOf, type Refusal, refuse } from '../refusal.ts';

/**
 * One GET, without following anything. The connection goes to an address that `allows` has just let through: the name is looked up once,
 * inside the connect, so nobody can answer something else in between. No proxy and no connection of earlier requests is used.
 */
export interface Get {
  url: URL;
  headers: Record<string, string>;
  /** Whether this address may be connected to. */
  allows(address: string): boolean;
  /** Who finds the addresses of a name; the system where it is absent. */
  resolve?: Resolve | undefined;
  signal: AbortSignal;
}

export type Resolve = (
  name: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

export type Got = { ok: true; response: IncomingMessage } | Refusal;

/** The response's body is the caller's to read or destroy. Rejects only when the signal fires. */
export async function get({ url, headers, allows, resolve = lookup, signal }: Get): Promise<Got> {
  signal.throwIfAborted();
  const host = hostOf(url);
  if (isIP(host) !== 0 && !allows(host)) return refuse(notPublic(host, host));
  // Loaded at the first use: a start that fetches nothing need not wait for it.
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  try {
    const response = await new Promise<IncomingMessage>((answered, reject) => {
      const options = { agent: false as const, headers, lookup: checked(allows, resolve), signal };
      request(url, options, answered).once('error', reject).end();
    });
    // A reset while nobody reads must not end the process; whoever reads gets the error as well.
    response.on('error', () => {});
    return { ok: true, response };
  } catch (error) {
    signal.throwIfAborted();
    return refuse(problemOf(error, url));
  }
}

/** The host as an address or a name: IPv6 without brackets. Spellings such as 0x7f.1 are ordinary addresses in a URL already. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

class NotPublic extends Error {}

/** Every address of the name must be allowed: one that is not shows what the name is for. */
function checked(allows: (address: string) => boolean, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const wrong = error ? undefined : found.find(({ address }) => !allows(address));
      const [first] = found ?? [];
      if (error || first === undefined) callback(error ?? new Error(`${hostname} has no address`), '', 4);
      else if (wrong) callback(new NotPublic(notPublic(hostname, wrong.address)), '', 4);
      else if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}

function notPublic(host: string, address: string): string {
  const leads = host === address ? 'is' : `leads to ${address},`;
  return `refused: ${host} ${leads}${host === address ? '' : ' which is'} not a public address`;
}

function problemOf(error: unknown, url: URL): string {
  // Several addresses were tried: the first failure stands for all.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  if (first instanceof NotPublic) return first.message;
  switch (codeOf(first)) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${url.hostname} was not found`;
    case 'ECONNREFUSED':
      return `${url.host} does not accept connections`;
    case 'ECONNRESET':
    case 'EPIPE':
      return `${url.host} broke the connection off`;
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `${url.host} cannot be reached`;
    default:
      return `${url.host}: ${(first as Error | undefined)?.message || codeOf(first) || 'the request failed'}`;
  }
}
