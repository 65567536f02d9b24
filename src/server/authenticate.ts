// Who sends a request: by its bearer token, or by the cookie that the link of the server sets.

import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { Role } from '../contract/http.ts';
import { HttpFailure } from './errors.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Principal, TokenBook } from './tokens.ts';

/** Variables that the server's handlers find in the context of a request. */
export interface ServerEnv {
  Variables: { principal: Principal; remoteAddress: string };
}

export interface AuthenticateOptions {
  tokens: TokenBook;
  cookieName: string;
  failures: RateLimit;
  now(): number;
}

/** Rejects with `unauthorized` without valid credentials. A valid token is always accepted, however many wrong ones came before it. */
export function createAuthenticate(options: AuthenticateOptions): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    context.set('principal', authenticate(context, options));
    await next();
  };
}

export function authenticate(context: Context<ServerEnv>, { tokens, cookieName, failures, now }: AuthenticateOptions): Principal {
  const header = context.req.header('authorization');
  const address = context.get('remoteAddress');
  if (header !== undefined) {
    const value = /^Bearer +(\S+) *$/i.exec(header)?.[1];
    const principal = value === undefined ? null : tokens.find(value);
    if (principal !== null) return principal;
    return refuse(failures.add(address, now()), 'the token is not valid');
  }
  const session = getCookie(context, cookieName);
  if (session === undefined)
    throw new HttpFailure(
      'unauthorized',
      'a token is needed: send `Authorization: Bearer TOKEN`, or open the link that `retinue serve` printed',
    );
  const principal = tokens.findSession(session, now());
  if (principal === null) return refuse(true, 'the session has ended; open the link that `retinue serve` printed');
  assertOwnPage(context);
  return principal;
}

/** Browsers add the cookie to requests of any page of the same site, such as another port of this machine. */
function assertOwnPage(context: Context): void {
  const site = context.req.header('sec-fetch-site');
  const isRead = context.req.method === 'GET' || context.req.method === 'HEAD';
  if (site === 'same-origin' || (isRead && (site === undefined || site === 'none'))) return;
  // Browsers without Sec-Fetch-Site; the origin was compared before.
  if (site === undefined && context.req.header('origin') !== undefined) return;
  throw new HttpFailure('forbidden', 'a request with a cookie must come from a page of this server; programs send a bearer token');
}

export function refuse(isWithinLimit: boolean, message: string): never {
  if (!isWithinLimit) throw new HttpFailure('too_many_requests', 'too many wrong tokens; wait a minute');
  throw new HttpFailure('unauthorized', message);
}

/** Throws `forbidden` if the token's role does not suffice. */
export function assertRole({ role }: Principal, needed: Role): void {
  if (Role.options.indexOf(role) >= Role.options.indexOf(needed)) return;
  throw new HttpFailure('forbidden', `this needs a token with the role \`${needed}\`; yours has \`${role}\``);
}
