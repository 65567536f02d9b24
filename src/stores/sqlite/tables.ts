// The tables as TypeScript types, and access to them through kysely.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { Kysely, SqliteDialect } from 'kysely';

/** The columns of the tables. migrations.ts creates them. */
export interface Tables {
  trees: { n: number; root: string; owner: string | null };
  runs: {
    n: number;
    id: string;
    tree: number;
    parent: string | null;
    live: number;
    key: string | null;
    seq: number;
    row: string | null;
    /** Proves who wrote the facts (run-tags.ts). */
    tag: string | null;
  };
  facts: { position: number; run: number; seq: number; tree: number; at: string; v: number; type: string; data: string; hash: string };
  /** `text` holds text, or bytes as a BLOB value. */
  blobs: { hash: string; text: string | Uint8Array };
  pins: { hash: string; tree: number };
  /** `tag` proves who gave the order (ports/store.ts, OrderAuthenticator). */
  orders: { n: number; id: string; root: string; text: string; tag: string };
  /** Orders that were carried out or dropped. */
  consumed: { n: number; tree: number; run: string; id: string };
  owners: {
    id: string;
    pid: number;
    started: string | null;
    boot: string | null;
    space: string | null;
    beat: number;
    socket: string | null;
  };
}

const maxStatements = 100;

/** Caches prepared statements by their SQL; drops the oldest above 100. */
export function createStatements(db: DatabaseSync): (sql: string) => StatementSync {
  const cache = new Map<string, StatementSync>();
  return (sql) => {
    let statement = cache.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      cache.set(sql, statement);
      if (cache.size > maxStatements) cache.delete(cache.keys().next().value as string);
    }
    return statement;
  };
}

/** Lets kysely use a `DatabaseSync`. The store closes the database, not kysely. */
export function createKysely(statements: (sql: string) => StatementSync): Kysely<Tables> {
  const prepare = (sql: string) => {
    const statement = statements(sql);
    const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
    return {
      reader: statement.columns().length > 0,
      all: (parameters: readonly unknown[]) => statement.all(...values(parameters)),
      run: (parameters: readonly unknown[]) => statement.run(...values(parameters)),
      iterate: (parameters: readonly unknown[]) => statement.iterate(...values(parameters)),
    };
  };
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database: { prepare, close() {} } }) });
}
