// Positions of facts: `<transaction>-<number>`. Numbers alone become visible out of order, because transactions are committed in another order than they
// begin. Transaction ids grow, and below the oldest open transaction nothing changes any more.
//
// 1. A reader of all trees sees only transactions below the oldest one that is still open. So nothing appears behind its cursor.
// 2. Within a tree, transaction ids grow in the order of commits (locks.ts). So a reader of one tree or run needs no such bound.
import { sql } from 'kysely';
import { RetinueError } from '../../contract/error.ts';
import type { Connections } from './connections.ts';

export interface Position {
  xid: string;
  n: string;
}

/** Before the first fact. */
export const startPosition = '0';

const pattern = /^(0|[1-9]\d{0,19})-(0|[1-9]\d{0,18})$/;
const [maxXid, maxNumber] = [2n ** 64n - 1n, 2n ** 63n - 1n];

/** After every fact. */
export const lastPosition: Position = { xid: String(maxXid), n: String(maxNumber) };

/** Null for a text that cannot be a position. */
export function readPosition(text: string): Position | null {
  if (text === startPosition) return { xid: '0', n: '0' };
  const [, xid, n] = pattern.exec(text) ?? [];
  if (xid === undefined || n === undefined || BigInt(xid) > maxXid || BigInt(n) > maxNumber) return null;
  return { xid, n };
}

export function parsePosition(text: string): Position {
  const position = readPosition(text);
  if (position === null) throw new RetinueError('usage', `"${text}" is not a position of this store.`);
  return position;
}

export function formatPosition({ xid, n }: { xid: string; n: number | string }): string {
  return `${xid}-${n}`;
}

/** Below it, no transaction is open. */
export const oldestOpen = sql<string>`pg_snapshot_xmin(pg_current_snapshot())`;

/**
 * A dump that was restored on another server has transaction ids of the old one. If they are ahead of the new one, readers would not see these facts
 * for a long time, so they get the lowest id. Their order stays; cursors from before become unknown, so readers start anew.
 */
export async function rebasePositions(connections: Connections): Promise<void> {
  const { schema: s } = connections;
  // A fact that this snapshot sees was written below its upper bound.
  const find = sql`SELECT 1 FROM ${sql.raw(s)}.facts WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1`;
  const { rows } = await connections.retry(() => find.execute(connections.kysely));
  if (rows.length === 0) return;
  const client = await connections.connectAlone();
  try {
    await client.query(`BEGIN; LOCK TABLE ${s}.facts IN EXCLUSIVE MODE`);
    // Another process may have done it by now.
    await client.query(`UPDATE ${s}.facts SET xid = '3' WHERE EXISTS (${find.compile(connections.kysely).sql})`);
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}
