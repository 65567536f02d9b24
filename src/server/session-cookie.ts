// The cookie of a browser session.
import type { Context } from 'hono';
import { setCookie } from 'hono/cookie';
import { sessionMs } from './tokens.ts';

export interface SessionCookie {
  /** All cookies of this name: a page of another port can add one of its own, which must not hide the right one. */
  read(context: Context): string[];
  write(context: Context, value: string): void;
}

const maxCookies = 20;

/** The port is part of the name, because browsers do not separate cookies by port. */
export function createSessionCookie({ port, isSecure }: { port: number | string; isSecure: boolean }): SessionCookie {
  const name = `retinue_${port}`;
  return {
    read(context) {
      const pairs = (context.req.header('cookie') ?? '').split(';').map((pair) => pair.trim());
      const own = pairs.filter((pair) => pair.startsWith(`${name}=`));
      return own.slice(0, maxCookies).map((pair) => pair.slice(name.length + 1));
    },
    write(context, value) {
      setCookie(context, name, value, { httpOnly: true, sameSite: 'Strict', path: '/', secure: isSecure, maxAge: sessionMs / 1000 });
    },
  };
}
