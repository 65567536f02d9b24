import type { DatabaseSync } from 'node:sqlite';
import { RetinueError } from '../../contract/error.ts';
import type { Crash } from '../../ports/crash.ts';

/** Marks a file as ours, in the header field that SQLite keeps for this: "Rtnu". */
export const applicationId = 0x52746e75;

/** Step n takes a database from `user_version` n - 1 to n. Steps are never changed once released, only added. */
export type Migration = (db: DatabaseSync) => void;

/*
 * Facts name their run and tree by number: with the random text ids in the indexes every fact dirties a page of its own,
 * and an append costs half as much again. Trees without an owner, or whose owner has no row, are free to be claimed.
 */
const first = `
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

/** Which tree was given which blob, so that the last one to be erased takes it along. */
const pins = `
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

export const migrations: readonly Migration[] = [(db) => db.exec(first), (db) => db.exec(pins)];

export interface MigrateOptions {
  steps?: readonly Migration[];
  crash?: Crash | undefined;
}

export function userVersion(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version);
}

/**
 * Brings the database up to date, each step in one transaction with its number, so that a kill between or inside steps
 * leaves whole steps only. Others may migrate at the same time: the number is read again under the write lock.
 */
export function migrate(db: DatabaseSync, path: string, { steps = migrations, crash }: MigrateOptions = {}): void {
  while (userVersion(db) !== steps.length) {
    db.exec('BEGIN IMMEDIATE');
    try {
      const version = userVersion(db);
      if (version > steps.length) throw newerError(path, version, steps.length);
      const step = steps[version];
      if (step !== undefined) {
        crash?.('before migration.step');
        step(db);
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

export function newerError(path: string, found: number, known: number): RetinueError {
  return new RetinueError(
    'store_newer',
    `The database ${path} has version ${found}; this Retinue knows versions up to ${known}. Use the newer Retinue that wrote it, or another database.`,
  );
}
