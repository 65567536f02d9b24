// Who sends a request: by its bearer token, or by the cookie that the link of the server sets.

import type { Context, MiddlewareHandler } from 'hono';
import { Role } from '../contract/http.ts';
import { pageKeyHeader } from '../contract/page-key.ts';
import { HttpFailure } from './errors.ts';
import type { RateLimit } from './rate-limit.ts';
import type { SessionCookie } from './session-cookie.ts';
import type { Principal, TokenBook } from './tokens.ts';

/** Variables that the server's handlers find in the context of a request. */
export interface ServerEnv {
  Variables: { principal: Principal; remoteAddress: string };
}

export interface AuthenticateOptions {
  tokens: TokenBook;
  cookie: SessionCookie;
  failures: RateLimit;
  now(): number;
}

/**
 * Rejects with `unauthorized` without valid credentials, and with `forbidden` for a token that is only for MCP. A valid token is always accepted,
 * however many wrong ones came before it.
 */
export function createAuthenticate(
  options: AuthenticateOptions,
  accepts: { mcpOnly: boolean } = { mcpOnly: false },
): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    context.set('principal', authenticate(context, options, accepts));
    await next();
  };
}

export function authenticate(
  context: Context<ServerEnv>,
  options: AuthenticateOptions,
  accepts: { mcpOnly: boolean } = { mcpOnly: false },
): Principal {
  const principal = findPrincipal(context, options);
  if (principal.isMcpOnly && !accepts.mcpOnly)
    throw new HttpFailure('forbidden', 'this token is only for MCP at /mcp; its role in the token file is `mcp`');
  return principal;
}

function findPrincipal(context: Context<ServerEnv>, { tokens, cookie, failures, now }: AuthenticateOptions): Principal {
  const header = context.req.header('authorization');
  if (header !== undefined) {
    const value = /^Bearer +(\S+) *$/i.exec(header)?.[1];
    const principal = value === undefined ? null : tokens.find(value);
    if (principal !== null) return principal;
    return refuse(failures.add(context.get('remoteAddress'), now()), 'the token is not valid');
  }
  const cookies = cookie.read(context);
  if (cookies.length === 0)
    throw new HttpFailure(
      'unauthorized',
      'a token is needed: send `Authorization: Bearer TOKEN`, or open the link that `retinue serve` printed',
    );
  const pageKey = context.req.header(pageKeyHeader);
  if (pageKey === undefined)
    throw new HttpFailure('unauthorized', 'this page has no key of the server yet; open the link that `retinue serve` printed again');
  for (const each of cookies) {
    const session = tokens.findSession({ cookie: each, pageKey }, now());
    if (session === null) continue;
    assertOwnPage(context);
    if (session.renewed !== null) cookie.write(context, session.renewed);
    return session.principal;
  }
  return refuse(true, 'the session has ended; open the link that `retinue serve` printed again');
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
  throw new HttpFailure(
    'forbidden',
    `this needs a token with the role \`${needed}\`; yours has \`${role}\`; use another one of the token file`,
  );
}
