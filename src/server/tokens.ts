// Tokens and the sessions of browsers. Tokens are compared by their hashes in constant time. A session is signed with a key that is derived from its
// token, so it needs no memory, survives a restart with the same token file, and ends when its token is removed.
//
// A session has two secrets: a cookie, and a key that only pages of the server's own origin have (contract/page-key.ts). Both are needed, and each is
// worthless with the other one of another session.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role } from '../contract/http.ts';

export interface Token {
  value: string;
  role: Role;
  /** Shown as the origin of orders. */
  name: string;
  /** `bearer`: only sent with requests. `link`: only exchanged for a session. Default: both. */
  use?: 'bearer' | 'link' | undefined;
  /** Only for MCP, where a client sees only the runs of its principal. */
  isMcpOnly?: boolean | undefined;
  /** Also for the user's other workspaces. */
  isEverywhere?: boolean | undefined;
}

export interface Principal {
  role: Role;
  name: string;
  /** Identifies the token, also across restarts. */
  id: string;
  isMcpOnly: boolean;
  isEverywhere: boolean;
}

export interface Session {
  cookie: string;
  pageKey: string;
}

export interface TokenBook {
  /** Null if no token has this value. */
  find(value: string): Principal | null;
  /** A session for a token; null if there is no such token, or none that opens sessions. */
  openSession(token: string, now: number): Session | null;
  /** Null if the session is not valid, or no longer. `renewed`: a cookie with more time, if less than half of it is left. */
  findSession(session: Session, now: number): { principal: Principal; renewed: string | null } | null;
}

/** A browser that was not used for this long has to open the link again. */
export const sessionMs = 24 * 3_600_000;

export function createTokenBook(tokens: Token[]): TokenBook {
  const known = tokens.map(({ value, role, name, use, isMcpOnly = false, isEverywhere = false }) => {
    const hash = sha256(value);
    const key = createHmac('sha256', value).update('retinue session key').digest();
    return { hash, key, use, principal: { role, name, id: hash.toString('hex').slice(0, 16), isMcpOnly, isEverywhere } };
  });
  type KnownToken = (typeof known)[number];

  /** Looks at all tokens, so that the time does not depend on which one matches. */
  function findKnown(value: string, refusedUse: Token['use']): KnownToken | null {
    const hash = sha256(value);
    let found: KnownToken | null = null;
    for (const token of known) if (timingSafeEqual(token.hash, hash) && token.use !== refusedUse) found = token;
    return found;
  }

  /** `id`: that of the session. It stays the same when the cookie gets more time, and so does the key of its pages. */
  function createCookie({ key, principal }: KnownToken, id: string, now: number): string {
    const head = `${principal.id}.${id}.${(now + sessionMs).toString(36)}`;
    return `${head}.${sign(key, `cookie ${head}`)}`;
  }

  return {
    find: (value) => findKnown(value, 'link')?.principal ?? null,
    openSession(value, now) {
      const token = findKnown(value, 'bearer');
      if (token === null || token.principal.isMcpOnly) return null;
      const id = randomBytes(12).toString('base64url');
      return { cookie: createCookie(token, id, now), pageKey: sign(token.key, `page ${id}`) };
    },
    findSession({ cookie, pageKey }, now) {
      const match = /^(([0-9a-f]{16})\.([\w-]{16})\.([0-9a-z]{1,11}))\.([\w-]{43})$/.exec(cookie);
      if (match === null) return null;
      const [, head, tokenId, id, until, mac] = match as unknown as [string, string, string, string, string, string];
      const token = known.find(({ principal }) => principal.id === tokenId);
      if (token === undefined || !isEqual(sign(token.key, `cookie ${head}`), mac)) return null;
      if (!isEqual(sign(token.key, `page ${id}`), pageKey)) return null;
      const left = Number.parseInt(until, 36) - now;
      if (left <= 0) return null;
      return { principal: token.principal, renewed: left < sessionMs / 2 ? createCookie(token, id, now) : null };
    },
  };
}

function sign(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
