// The tables of the database and the steps that create them.
import type { DatabaseSync } from 'node:sqlite';
import { RetinueError } from '../../contract/error.ts';
import { Order } from '../../contract/order.ts';
import type { Crash } from '../../ports/crash.ts';
import type { OrderAuthenticator } from '../../ports/store.ts';
import { canonical } from '../../text/canonical.ts';
import { signStoredRuns } from './run-tags.ts';
import { createSubSessionsView, wholeFactsView } from './views.ts';

/** Marks a file as a Retinue database in the header field that SQLite reserves for this: "Rtnu". */
export const applicationId = 0x52746e75;

/** Step n takes a database from `user_version` n - 1 to n. Released steps are never changed; new ones are added. */
export type Migration = (db: DatabaseSync, context: MigrationContext) => void;

export interface MigrationContext {
  authenticator?: OrderAuthenticator | undefined;
  /** Told what the step removed. */
  warn?: ((message: string) => void) | undefined;
}

/*
 * Facts refer to their run and tree by number: with random text ids in the indexes every fact would write to a page of its own, and an append
 * would cost half as much again. Trees without an owner, or whose owner has no row, are free to be claimed.
 */
const baseTables = `
  CREATE TABLE trees (
    n INTEGER PRIMARY KEY,
    root TEXT NOT NULL UNIQUE,
    owner TEXT
  );
  CREATE TABLE runs (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tree INTEGER NOT NULL,
    parent TEXT,
    live INTEGER NOT NULL,
    key TEXT,
    seq INTEGER NOT NULL,
    row TEXT
  );
  CREATE INDEX runs_tree ON runs (tree);
  CREATE INDEX runs_parent ON runs (parent);
  CREATE INDEX runs_live ON runs (live) WHERE live = 1;
  CREATE UNIQUE INDEX runs_key ON runs (coalesce(parent, ''), key) WHERE key IS NOT NULL;
  CREATE TABLE facts (
    position INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    tree INTEGER NOT NULL,
    at TEXT NOT NULL,
    v INTEGER NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    hash TEXT NOT NULL
  );
  CREATE UNIQUE INDEX facts_run ON facts (run, seq);
  CREATE INDEX facts_tree ON facts (tree);
  CREATE TABLE blobs (
    hash TEXT PRIMARY KEY,
    text TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE orders (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL,
    text TEXT NOT NULL
  );
  CREATE TABLE owners (
    id TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    started TEXT,
    boot TEXT,
    space TEXT,
    fence INTEGER NOT NULL,
    beat INTEGER,
    socket TEXT
  ) WITHOUT ROWID;
`;

/** Records which tree uses which blob, so that a blob is deleted with the last tree that uses it. */
const pinsTable = `
  CREATE TABLE pins (
    hash TEXT NOT NULL,
    tree INTEGER NOT NULL,
    PRIMARY KEY (hash, tree)
  ) WITHOUT ROWID;
  CREATE INDEX pins_tree ON pins (tree);
  INSERT INTO pins
    SELECT DISTINCT blobs.hash, tree
    FROM facts, json_each(CASE WHEN json_valid(facts.data) THEN facts.data ELSE '{}' END) AS field
    JOIN blobs ON blobs.hash = field.value
    WHERE (facts.type = 'run.started' AND field.key IN ('system', 'tools', 'history'))
      OR (facts.type = 'artifact.recorded' AND field.key = 'blob');
`;

/** The version from which on orders carry tags. */
export const signedOrdersVersion = 3;

/** The version from which on consumed orders are remembered. */
export const consumedOrdersVersion = 5;

/**
 * Ids of the orders that a tree has consumed, so that none is carried out twice. `run`: one that got facts in the same transaction; the
 * root if none did. Facts of
 * messages and answers have named their orders before.
 */
const consumedTable = `
  CREATE TABLE consumed (
    n INTEGER PRIMARY KEY,
    tree INTEGER NOT NULL,
    run TEXT NOT NULL,
    id TEXT NOT NULL
  );
  CREATE UNIQUE INDEX consumed_tree ON consumed (tree, id);
  INSERT OR IGNORE INTO consumed (tree, run, id)
    SELECT facts.tree, runs.id, data ->> '$.order' FROM facts JOIN runs ON runs.n = facts.run
    WHERE type IN ('message.received', 'approval.answered') AND json_valid(data) AND data ->> '$.order' IS NOT NULL
    ORDER BY position;
`;

/** Trees are taken from an owner one by one, so owners have no fence. An owner without a heartbeat had lost everything. */
const dropOwnerFences = `
  DELETE FROM owners WHERE beat IS NULL;
  ALTER TABLE owners DROP COLUMN fence;
`;

/** Shared budgets, what runs have drawn from them, and the sums of each period. `text`: the definition as JSON. */
const budgetTables = `
  CREATE TABLE budgets (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE budget_draws (
    run TEXT NOT NULL,
    budget TEXT NOT NULL,
    period TEXT NOT NULL,
    root TEXT NOT NULL,
    stamp TEXT NOT NULL,
    spent_tokens INTEGER NOT NULL,
    spent_nanos INTEGER NOT NULL,
    reserved_tokens INTEGER NOT NULL,
    reserved_nanos INTEGER NOT NULL,
    PRIMARY KEY (run, budget, period)
  ) WITHOUT ROWID;
  CREATE INDEX budget_draws_open ON budget_draws (root) WHERE reserved_tokens > 0 OR reserved_nanos > 0;
  CREATE TABLE budget_sums (
    budget TEXT NOT NULL,
    period TEXT NOT NULL,
    spent_tokens INTEGER NOT NULL,
    spent_nanos INTEGER NOT NULL,
    reserved_tokens INTEGER NOT NULL,
    reserved_nanos INTEGER NOT NULL,
    PRIMARY KEY (budget, period)
  ) WITHOUT ROWID;
`;

/** The shared limits of providers, by a keyed hash of their keys. `text`: the state as JSON. */
const limitTable = `
  CREATE TABLE provider_limits (
    key TEXT PRIMARY KEY,
    text TEXT NOT NULL
  ) WITHOUT ROWID;
`;

/** Facts may be stored as differences from a base (fact-differences.ts). Facts of earlier versions stay as they are. */
const addBases = `
  ALTER TABLE facts ADD COLUMN base INTEGER;
  DROP VIEW sub_sessions;
  ${wholeFactsView}
  ${createSubSessionsView('whole_facts')}
`;

/** The version from which on there are budgets. */
export const budgetsVersion = 8;

/** The version from which on runs carry tags. */
export const taggedRunsVersion = 6;

export const migrations: readonly Migration[] = [
  (db) => db.exec(baseTables),
  (db) => db.exec(pinsTable),
  signOrders,
  (db) => db.exec(createSubSessionsView('facts')),
  (db) => db.exec(consumedTable),
  tagRuns,
  (db) => db.exec(dropOwnerFences),
  (db) => db.exec(budgetTables),
  (db) => db.exec(limitTable),
  (db) => db.exec(addBases),
];

export interface MigrateOptions extends MigrationContext {
  steps?: readonly Migration[];
  crash?: Crash | undefined;
}

/**
 * Orders get a tag. Earlier orders have none, so their author is unknown: they are dropped. Cancels only stop work and are kept, as given by
 * the user who migrates the database.
 */
function signOrders(db: DatabaseSync, { authenticator, warn }: MigrationContext): void {
  db.exec("ALTER TABLE orders ADD COLUMN tag TEXT NOT NULL DEFAULT ''");
  const pending = db.prepare('SELECT n, text FROM orders').all() as { n: number; text: string }[];
  let dropped = 0;
  for (const { n, text } of pending) {
    const signed = authenticator && signCancel(text, authenticator);
    if (signed) db.prepare('UPDATE orders SET text = ?, tag = ? WHERE n = ?').run(signed.text, signed.tag, n);
    else dropped += Number(db.prepare('DELETE FROM orders WHERE n = ?').run(n).changes);
  }
  if (dropped > 0)
    warn?.(
      `${dropped === 1 ? '1 waiting order was' : `${dropped} waiting orders were`} dropped, because an earlier version of Retinue stored no proof of who gave orders. Give messages, answers and pauses again.`,
    );
}

/** Runs get a tag. Those of earlier versions are accepted as they are. */
function tagRuns(db: DatabaseSync, { authenticator }: MigrationContext): void {
  db.exec('ALTER TABLE runs ADD COLUMN tag TEXT');
  if (authenticator !== undefined && db.prepare('SELECT 1 FROM runs').get() !== undefined) signStoredRuns(db, authenticator, 'all');
}

/** Null for an order that is no cancel, is damaged, or cannot be signed. */
function signCancel(text: string, authenticator: OrderAuthenticator): { text: string; tag: string } | null {
  try {
    const order = Order.parse({ by: 'the user', ...JSON.parse(text) });
    return order.kind === 'cancel' ? { text: canonical(order), tag: authenticator.sign(order) } : null;
  } catch {
    return null;
  }
}

export function getUserVersion(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version);
}

/**
 * Migrates the database, each step in one transaction with its number, so that a kill leaves only complete steps. Other processes may migrate
 * at the same time: the number is read again under the write lock.
 */
export function migrate(db: DatabaseSync, path: string, { steps = migrations, crash, ...context }: MigrateOptions = {}): void {
  while (getUserVersion(db) !== steps.length) {
    db.exec('BEGIN IMMEDIATE');
    try {
      const version = getUserVersion(db);
      if (version > steps.length) throw createNewerError(path, version, steps.length);
      const step = steps[version];
      if (step !== undefined) {
        crash?.('before migration.step');
        step(db, context);
        db.exec(`PRAGMA user_version = ${version + 1}`);
        crash?.('after migration.step');
      }
      db.exec('COMMIT');
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }
}

export function createNewerError(path: string, found: number, known: number): RetinueError {
  return new RetinueError(
    'store_newer',
    `The database ${path} has version ${found}, but this version of Retinue supports only versions up to ${known}. Update Retinue, or choose another database.`,
  );
}
