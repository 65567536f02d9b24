// The shared limits of providers in a PostgreSQL database. An exchange locks the row of its key; a refusal is announced to the other processes in a
// transaction of its own. All times are the database's.
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { LimitNews, SharedLimits } from '../../ports/shared-limits.ts';
import type { OrderAuthenticator } from '../../ports/store.ts';
import { type LimitState, newLimitState, planExchange } from '../provider-limits.ts';
import type { Connections } from './connections.ts';
import type { Session } from './session.ts';

export interface LimitDeps {
  connections: Connections;
  session: Session;
  channel: string;
  authenticator: OrderAuthenticator | undefined;
}

/** Anybody who can connect to the database can send such a message. A longer back-off is found by asking. */
const maxAnnouncedMs = 600_000;

/** The database may be shared with others, so everything else is ignored. */
const Payload = z.strictObject({
  from: z.string(),
  key: z.string(),
  news: z.union([
    z.strictObject({ kind: z.literal('refused'), blockedMs: z.number().min(0).max(maxAnnouncedMs), inRow: z.int().min(0).max(1_000_000) }),
    z.strictObject({ kind: z.literal('accepted') }),
  ]),
});

export function createLimits({ connections, session, channel, authenticator }: LimitDeps): SharedLimits {
  const { schema: s } = connections;
  const self = randomBytes(8).toString('hex');

  async function announce(key: string, news: LimitNews): Promise<void> {
    const shown = news.kind === 'refused' ? { ...news, blockedMs: Math.min(news.blockedMs, maxAnnouncedMs) } : news;
    const payload = JSON.stringify({ from: self, key, news: shown } satisfies z.infer<typeof Payload>);
    await connections.query({ text: 'SELECT pg_notify($1, $2)', values: [channel, payload] });
  }

  return {
    identify: (secret) => authenticator?.identify(secret) ?? null,
    async exchange(key, request) {
      const { grant, news } = await connections.transact(async (transaction) => {
        transaction.send({
          text: `INSERT INTO ${s}.provider_limits (key, text) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`,
          values: [key, JSON.stringify(newLimitState)],
        });
        const [row] = await transaction.query<{ text: string }>({
          text: `SELECT text FROM ${s}.provider_limits WHERE key = $1 FOR UPDATE`,
          values: [key],
        });
        const [clock] = await transaction.query<{ now: number }>({
          text: 'SELECT (extract(epoch from clock_timestamp()) * 1000)::double precision AS now',
        });
        const planned = planExchange(row ? (JSON.parse(row.text) as LimitState) : newLimitState, request, Math.floor(clock?.now ?? 0));
        transaction.send({
          text: `UPDATE ${s}.provider_limits SET text = $2 WHERE key = $1`,
          values: [key, JSON.stringify(planned.state)],
        });
        return planned;
      });
      if (news !== null) await announce(key, news);
      return grant;
    },
    watch(listener) {
      return session.listen(channel, (text) => {
        const payload = parsePayload(text);
        if (payload !== null && payload.from !== self) listener(payload.key, payload.news);
      });
    },
  };
}

function parsePayload(text: string): z.infer<typeof Payload> | null {
  try {
    return Payload.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
