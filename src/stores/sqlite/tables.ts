// The tables as TypeScript types, and prepared statements. Queries are plain SQL: a query builder would take 15 ms at each start.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

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
  /** `at`, `hash` and `data` are encoded (fact-columns.ts, fact-differences.ts). */
  facts: {
    position: number;
    run: number;
    seq: number;
    tree: number;
    at: string;
    v: number;
    type: string;
    data: string;
    hash: string | Uint8Array;
    base: number | null;
  };
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

/** SQL with the values of its placeholders. */
export interface SqlQuery {
  sql: string;
  parameters: SQLInputValue[];
}

export type Statements = (sql: string) => StatementSync;

const maxStatements = 100;

/** Caches prepared statements by their SQL; drops the oldest above 100. */
export function createStatements(db: DatabaseSync): Statements {
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
