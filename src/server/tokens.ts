// Tokens and the sessions of browsers. Tokens are compared by their hashes in constant time. A session is signed with a key that is derived from its
// token, so it needs no memory, survives a restart with the same token file, and ends when its token is removed.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Role } from '../contract/http.ts';

export interface Token {
  value: string;
  role: Role;
  /** Shown as the origin of orders. */
  name: string;
}

export interface Principal {
  role: Role;
  name: string;
  /** Identifies the token, also across restarts. */
  id: string;
}

export interface TokenBook {
  /** Null if no token has this value. */
  find(value: string): Principal | null;
  /** A session for a token; null if there is no such token. */
  openSession(token: string, now: number): string | null;
  /** Null if the session is not valid, or no longer. */
  findSession(session: string, now: number): Principal | null;
}

/** A browser has to use the link again after this time. */
export const sessionMs = 30 * 24 * 3_600_000;

export function createTokenBook(tokens: Token[]): TokenBook {
  const known = tokens.map(({ value, role, name }) => {
    const hash = sha256(value);
    const key = createHmac('sha256', value).update('retinue session key').digest();
    return { hash, key, principal: { role, name, id: hash.toString('hex').slice(0, 16) } };
  });

  /** Looks at all tokens, so that the time does not depend on which one matches. */
  function findKnown(value: string) {
    const hash = sha256(value);
    let found: (typeof known)[number] | null = null;
    for (const token of known) if (timingSafeEqual(token.hash, hash)) found = token;
    return found;
  }

  return {
    find: (value) => findKnown(value)?.principal ?? null,
    openSession(value, now) {
      const token = findKnown(value);
      if (token === null) return null;
      const head = `${token.principal.id}.${(now + sessionMs).toString(36)}`;
      return `${head}.${sign(token.key, head)}`;
    },
    findSession(session, now) {
      const match = /^(([0-9a-f]{16})\.([0-9a-z]{1,11}))\.([\w-]{43})$/.exec(session);
      if (match === null) return null;
      const [, head, id, until, mac] = match as unknown as [string, string, string, string, string];
      const token = known.find(({ principal }) => principal.id === id);
      if (token === undefined || !timingSafeEqual(Buffer.from(sign(token.key, head)), Buffer.from(mac))) return null;
      return Number.parseInt(until, 36) > now ? token.principal : null;
    },
  };
}

function sign(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
