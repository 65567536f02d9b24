// Looks for faults that the facts of a run do not show: a changed schema, rows and trees that do not fit together, forged orders. Reads only, and
// works on databases of every version.
import type { DatabaseSync } from 'node:sqlite';
import type { OrderAuthenticator, StoreFault } from '../../ports/store.ts';
import { type OrderRow, readOrder } from '../order-rows.ts';
import { getSqliteCode } from './errors.ts';
import { consumedOrdersVersion, getUserVersion, signedOrdersVersion, taggedRunsVersion } from './migrations.ts';
import { findChangedRuns } from './run-tags.ts';
import { findSchemaFaults } from './schema.ts';

/** How many faults of one kind are listed. */
const maxListed = 20;

/** Rows whose columns differ from the row that they were made from. `live` lists the statuses of runs that have not ended. */
const brokenRows = `
  SELECT runs.id, CASE
      WHEN row IS NULL THEN 'it has events, but no row'
      WHEN NOT json_valid(row) THEN 'its row is not JSON'
      WHEN row ->> '$.runId' IS NOT runs.id THEN 'its row belongs to another run'
      WHEN row ->> '$.parentId' IS NOT parent THEN 'its row names another parent'
      WHEN row ->> '$.rootId' IS NOT trees.root THEN 'its row names another tree'
      WHEN row ->> '$.idempotencyKey' IS NOT key THEN 'its row has another idempotency key'
      WHEN row ->> '$.lastSeq' IS NOT runs.seq THEN 'its row has another number of events'
      WHEN (row ->> '$.status' IN ('queued', 'running', 'waiting', 'paused')) IS NOT live THEN 'its row has another status'
    END AS what
  FROM runs JOIN trees ON trees.n = runs.tree
  WHERE what IS NOT NULL`;

/** Rows are never deleted and their numbers have no gaps, so a gap shows that some were. */
const checks: { where: StoreFault['where']; sql: string }[] = [
  { where: 'rows', sql: `SELECT 'run ' || id || ': ' || what AS what FROM (${brokenRows})` },
  {
    where: 'trees',
    sql: `SELECT 'run ' || id || ' belongs to a tree that is missing' AS what FROM runs WHERE tree NOT IN (SELECT n FROM trees)`,
  },
  {
    where: 'trees',
    sql: `SELECT 'the root run of tree ' || root || ' is missing' AS what FROM trees
      WHERE n IN (SELECT tree FROM runs UNION SELECT tree FROM facts) AND root NOT IN (SELECT id FROM runs)`,
  },
  {
    where: 'trees',
    sql: `SELECT count(*) || ' events belong to runs that are missing' AS what FROM facts WHERE run NOT IN (SELECT n FROM runs) HAVING count(*) > 0`,
  },
  {
    where: 'trees',
    sql: `SELECT count(*) || ' events are filed under another tree than their run' AS what
      FROM facts JOIN runs ON runs.n = facts.run WHERE facts.tree <> runs.tree HAVING count(*) > 0`,
  },
  { where: 'trees', sql: createGapCheck('facts', 'position', 'events') },
  { where: 'trees', sql: createGapCheck('runs', 'n', 'runs') },
  { where: 'trees', sql: createGapCheck('trees', 'n', 'trees') },
];

/** `isOwn`: the user's own database, whose runs have tags made with the user's key. */
export function findFaults(db: DatabaseSync, authenticator: OrderAuthenticator | undefined, { isOwn = true } = {}): StoreFault[] {
  const faults: StoreFault[] = findSchemaFaults(db).map(({ what }) => ({ where: 'schema', what }));
  faults.push(...runCheck(() => checkFile(db), 'file'));
  for (const { where, sql } of checks) faults.push(...runCheck(() => selectTexts(db, `${sql} LIMIT ${maxListed}`), where));
  if (getUserVersion(db) >= signedOrdersVersion) faults.push(...runCheck(() => checkOrders(db, authenticator), 'orders'));
  if (isOwn && getUserVersion(db) >= taggedRunsVersion) faults.push(...runCheck(() => checkRuns(db, authenticator), 'rows'));
  return faults;
}

/** A check that the database cannot answer, because a page is damaged, is a fault itself. */
function runCheck(check: () => string[], where: StoreFault['where']): StoreFault[] {
  try {
    return check().map((what) => ({ where, what }));
  } catch (error) {
    if (getSqliteCode(error) === null) throw error;
    return [{ where, what: `this could not be checked: ${(error as Error).message}` }];
  }
}

/** Pages, and indexes that differ from their tables. */
function checkFile(db: DatabaseSync): string[] {
  const lines = db.prepare(`PRAGMA integrity_check(${maxListed})`).all() as { integrity_check: string }[];
  return lines.map((line) => line.integrity_check).filter((line) => line !== 'ok');
}

function checkOrders(db: DatabaseSync, authenticator: OrderAuthenticator | undefined): string[] {
  const isConsumed =
    getUserVersion(db) < consumedOrdersVersion
      ? '0'
      : 'EXISTS (SELECT 1 FROM consumed JOIN trees ON trees.n = consumed.tree WHERE trees.root = orders.root AND consumed.id = orders.id)';
  const rows = db.prepare(`SELECT id, root, text, tag, ${isConsumed} AS isConsumed FROM orders ORDER BY n`).all();
  const faults = (rows as unknown as (Omit<OrderRow, 'isConsumed'> & { isConsumed: number })[])
    .map((row) => readOrder({ ...row, isConsumed: row.isConsumed === 1 }, authenticator))
    .flatMap((read) => ('what' in read ? [read.what] : []));
  return faults.slice(0, maxListed);
}

function checkRuns(db: DatabaseSync, authenticator: OrderAuthenticator | undefined): string[] {
  if (authenticator?.hasKey() !== true) return [];
  return findChangedRuns(db, authenticator, maxListed).map(
    (id) => `run ${id}: its tag does not match its events: another program changed it, or your key for orders was replaced`,
  );
}

function selectTexts(db: DatabaseSync, sql: string): string[] {
  return db
    .prepare(sql)
    .all()
    .map(({ what }) => String(what));
}

function createGapCheck(table: string, column: string, noun: string): string {
  return `SELECT (max(${column}) - count(*)) || ' ${noun} were removed' AS what FROM ${table} HAVING max(${column}) > count(*)`;
}
