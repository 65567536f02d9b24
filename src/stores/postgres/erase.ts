// Erases the data of trees permanently. PostgreSQL keeps old versions of rows until it cleans a table up, so `reclaim` does that.
import type { RunRow } from '../../contract/run.ts';
import type { EraseResult } from '../../ports/store.ts';
import type { Connections } from './connections.ts';
import { getSqlState } from './errors.ts';
import { blobLock, takeLocks, treeLock } from './locks.ts';
import type { RunTags } from './run-tags.ts';
import type { Query, Transaction } from './transaction.ts';

export interface Eraser {
  erase(rootId: string, at: string): Promise<EraseResult>;
  weigh(rootIds: string[]): Promise<{ facts: number; bytes: number }>;
  reclaim(erased: number): Promise<void>;
  /** The bytes of all tables and indexes. */
  size(): Promise<number>;
}

interface Weight {
  facts: number;
  bytes: number;
}

/** Tables that hold erased data. */
const cleaned = ['facts', 'runs', 'blobs', 'pins', 'orders', 'consumed', 'scratch'];
/** Rewrite the tables if this part of them is still occupied by erased content. */
const rewriteShare = 0.05;
/** Rewriting a table locks it. Others wait for it at most this long before it begins. */
const rewriteLockMs = 1_000;

const selectedTrees = (s: string) => `SELECT n FROM ${s}.trees WHERE root = ANY($1)`;
/** The blobs of the selected trees that no other tree uses. */
const isUnsharedBlob = (s: string) => `hash IN (SELECT hash FROM ${s}.pins WHERE tree IN (${selectedTrees(s)}))
  AND NOT EXISTS (SELECT 1 FROM ${s}.pins WHERE pins.hash = blobs.hash AND tree NOT IN (${selectedTrees(s)}))`;

function weightQuery(s: string, rootIds: string[]): Query {
  return {
    text: `SELECT count(*) AS facts, (coalesce(sum(octet_length(data)), 0) + (
        SELECT coalesce(sum(octet_length(content)), 0) FROM ${s}.blobs WHERE ${isUnsharedBlob(s)}
      ))::bigint AS bytes
      FROM ${s}.facts WHERE tree IN (${selectedTrees(s)}) AND data <> ''`,
    values: [rootIds],
  };
}

export function createEraser(connections: Connections, { tags, isAnyAlive }: { tags: RunTags; isAnyAlive(): Promise<boolean> }): Eraser {
  const { schema: s } = connections;

  function erase(rootId: string, at: string): Promise<EraseResult> {
    let last: EraseResult | null = null;
    return connections.transact(async (transaction, mayBeCommitted) => {
      transaction.send({ text: 'SELECT pg_advisory_xact_lock($1)', values: [blobLock(s)] });
      takeLocks(transaction, [treeLock(s, rootId)]);
      const runs = await transaction.query<{ n: number; live: boolean; row: string | null }>({
        text: `SELECT n, live, row FROM ${s}.runs WHERE tree IN (${selectedTrees(s)})`,
        values: [[rootId]],
      });
      if (runs.length === 0) return { ok: false, reason: 'unknown' };
      if (runs.some(({ live }) => live)) return { ok: false, reason: 'live' };
      const [weights, wasAuthentic] = await Promise.all([
        transaction.query<Weight>(weightQuery(s, [rootId])),
        tags.isTreeAuthentic(transaction, rootId),
      ]);
      const result: EraseResult = { ok: true, ...(weights[0] as Weight) };
      // The answer to an earlier attempt was lost, and it had erased everything.
      if (mayBeCommitted && last !== null && result.facts === 0) return last;
      sendErasure(transaction, rootId, runs, at);
      if (wasAuthentic) await tags.signTree(transaction, rootId);
      last = result;
      return result;
    });
  }

  function sendErasure(transaction: Transaction, rootId: string, runs: { n: number; row: string | null }[], at: string): void {
    const erased = runs.flatMap(({ n, row }) => (row === null ? [] : [{ n, row: eraseRow(JSON.parse(row) as RunRow, at) }]));
    const roots = { values: [[rootId]] };
    transaction.send({ text: `UPDATE ${s}.facts SET data = '' WHERE tree IN (${selectedTrees(s)}) AND data <> ''`, ...roots });
    transaction.send({
      text: `UPDATE ${s}.runs SET key = NULL, row = given.row FROM unnest($1::bigint[], $2::text[]) AS given (n, row) WHERE runs.n = given.n`,
      values: [erased.map(({ n }) => n), erased.map(({ row }) => row)],
    });
    transaction.send({ text: `DELETE FROM ${s}.blobs WHERE ${isUnsharedBlob(s)}`, ...roots });
    transaction.send({ text: `DELETE FROM ${s}.pins WHERE tree IN (${selectedTrees(s)})`, ...roots });
    transaction.send({ text: `DELETE FROM ${s}.orders WHERE root = ANY($1)`, ...roots });
    transaction.send({ text: `DELETE FROM ${s}.jobs WHERE root = ANY($1)`, ...roots });
    transaction.send({ text: `DELETE FROM ${s}.consumed WHERE tree IN (${selectedTrees(s)})`, ...roots });
  }

  async function weigh(rootIds: string[]): Promise<Weight> {
    const [weight] = await connections.query<Weight>(weightQuery(s, rootIds));
    return weight as Weight;
  }

  async function size(): Promise<number> {
    const [found] = await connections.query<{ bytes: number }>({
      text: `SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint AS bytes
        FROM pg_class WHERE relkind IN ('r', 'S') AND relnamespace = to_regnamespace($1)`,
      values: [s],
    });
    return found?.bytes ?? 0;
  }

  /**
   * Removes old versions of rows. Space goes back to the system only if the tables are rewritten, which locks them. That is done only while no
   * process drives runs.
   */
  async function reclaim(erased: number): Promise<void> {
    const isRewritten = erased > rewriteShare * (await size()) && !(await isAnyAlive());
    await connections.retry(async () => {
      const client = await connections.connectAlone();
      try {
        await client.query(`SET lock_timeout = ${rewriteLockMs}`);
        for (const table of cleaned) {
          const isDone = isRewritten && (await tryVacuum(() => client.query(`VACUUM (FULL) ${s}.${table}`)));
          if (!isDone) await tryVacuum(() => client.query(`VACUUM ${s}.${table}`));
        }
      } finally {
        await client.end();
      }
    });
  }

  return { erase, weigh, reclaim, size };
}

/** False if somebody uses the table, or if it belongs to another user: then the server cleans it up later. */
async function tryVacuum(vacuum: () => Promise<unknown>): Promise<boolean> {
  try {
    await vacuum();
    return true;
  } catch (error) {
    if (['55P03', '42501'].includes(getSqlState(error) ?? '')) return false;
    throw error;
  }
}

function eraseRow({ erasedAt, ...kept }: RunRow, at: string): string {
  return JSON.stringify({ ...kept, activity: null, idempotencyKey: null, label: null, erasedAt: erasedAt ?? at });
}
