// The shared limits of providers in a SQLite file. Other processes learn of a back-off when they next ask, because a file cannot notify them.
import type { DatabaseSync } from 'node:sqlite';
import type { SharedLimits } from '../../ports/shared-limits.ts';
import type { OrderAuthenticator } from '../../ports/store.ts';
import { type LimitState, newLimitState, planExchange } from '../provider-limits.ts';
import type { Writer } from './writer.ts';

export interface LimitDeps {
  db: DatabaseSync;
  writer: Writer;
  authenticator: OrderAuthenticator | undefined;
  /** Milliseconds on a clock that all processes of this machine share. */
  now(): number;
}

export function createLimits({ db, writer, authenticator, now }: LimitDeps): SharedLimits {
  const select = db.prepare('SELECT text FROM provider_limits WHERE key = ?');
  const upsert = db.prepare('INSERT INTO provider_limits (key, text) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET text = excluded.text');
  return {
    identify: (secret) => authenticator?.identify(secret) ?? null,
    exchange: (key, request) =>
      writer.write(() => {
        const text = select.get(key)?.text as string | undefined;
        const stored = text === undefined ? newLimitState : (JSON.parse(text) as LimitState);
        // After a restart of the machine its clock begins again, and nothing of before counts.
        const { state, grant } = planExchange(stored.at > now() ? newLimitState : stored, request, now());
        upsert.run(key, JSON.stringify(state));
        return grant;
      }),
    watch: () => () => {},
  };
}
