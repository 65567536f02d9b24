// Advisory locks: numbers that the processes of a database agree on. They are held until the end of a transaction.
//
// A transaction takes all its locks in one statement, in the order of their numbers, before anything that gives it a transaction id. So no two
// transactions wait for each other, and transaction ids of one tree grow in the order of commits.
import { hash } from 'node:crypto';
import type { Transaction } from './transaction.ts';

/** `what`: for example a tree and its id. `s`: the schema, because the locks belong to the whole database. */
export function lockKey(what: string, s: string): string {
  return String(Buffer.from(hash('sha256', `retinue ${s} ${what}`, 'buffer')).readBigInt64BE());
}

export const treeLock = (s: string, rootId: string) => lockKey(`tree ${rootId}`, s);
/** Shared by appends with blobs. An erasure takes it alone, so that it deletes no blob that an append is about to use. */
export const blobLock = (s: string) => lockKey('blobs', s);
/** Two trees that begin at once with the same idempotency key wait for each other. */
export const rootKeyLock = (s: string, key: string) => lockKey(`key ${key}`, s);

/** Sends the statements that take the locks. */
export function takeLocks(transaction: Transaction, keys: Iterable<string>, shared: string | null = null): void {
  if (shared !== null) transaction.send({ name: 'lock-shared', text: 'SELECT pg_advisory_xact_lock_shared($1)', values: [shared] });
  const sorted = [...new Set(keys)].map(BigInt).sort((a, b) => (a < b ? -1 : 1));
  if (sorted.length > 0)
    transaction.send({
      name: 'lock',
      text: 'SELECT pg_advisory_xact_lock(key) FROM unnest($1::bigint[]) AS key',
      values: [sorted.map(String)],
    });
}
