// Answers only requests for this server's own names, and from its own pages. This stops DNS rebinding and requests of foreign pages.
import { HttpFailure } from './errors.ts';

export interface OwnAddresses {
  /** Values of the Host header that are accepted, in lower case. */
  hosts: ReadonlySet<string>;
  /** The same for the name in the public address. */
  publicHosts: ReadonlySet<string>;
  scheme: 'http' | 'https';
  /** The origin that browsers see if a proxy is in front of the server. */
  publicOrigin: string | null;
}

/** Hosts as browsers send them: without the port if it is the default one of the scheme. */
export function listOwnHosts(names: string[], { port, scheme }: { port: number; scheme: 'http' | 'https' }): Set<string> {
  const defaultPort = scheme === 'https' ? 443 : 80;
  return new Set(
    names.flatMap((name) => {
      const host = (name.includes(':') && !name.startsWith('[') ? `[${name}]` : name).toLowerCase();
      return port === defaultPort ? [host, `${host}:${port}`] : [`${host}:${port}`];
    }),
  );
}

/** The name of the public address as browsers and proxies send it: with a default port or without one. */
export function listPublicHosts({ host, hostname, port }: URL): Set<string> {
  return new Set(port === '' ? [host, `${hostname}:443`, `${hostname}:80`] : [host]);
}

/** Throws `forbidden` for a foreign Host or Origin. */
export function checkOrigin(request: { host: string | undefined; origin: string | undefined }, own: OwnAddresses): void {
  const host = request.host?.toLowerCase();
  if (host === undefined || !(own.hosts.has(host) || own.publicHosts.has(host)))
    throw new HttpFailure('forbidden', 'this server does not answer for that host name; use the address that `retinue serve` printed');
  if (request.origin === undefined || request.origin === own.publicOrigin) return;
  // An origin never has the default port of its scheme.
  if (own.hosts.has(host) && request.origin === URL.parse(`${own.scheme}://${host}`)?.origin) return;
  throw new HttpFailure(
    'forbidden',
    'requests from pages of other origins are refused; send them from a program, with a bearer token and without `Origin`',
  );
}
