// Which tables, indexes, views and triggers a Retinue database has, exactly. A trigger that somebody added could change what is written, and a
// view or a changed table could change what is read, so nothing is written to a database with another schema.
import { constants, DatabaseSync } from 'node:sqlite';
import { RetinueError } from '../../contract/error.ts';
import { getUserVersion, migrations } from './migrations.ts';
import { notesTables } from './notes-tables.ts';

export interface SchemaFault {
  what: string;
  /** Reading could return something that Retinue never wrote. */
  affectsReading: boolean;
}

/** How many faults an error names. */
const maxNamed = 3;

interface SchemaEntry {
  type: string;
  name: string;
  table: string;
  sql: string | null;
}

/** Compares the schema of an open database with that of its version. */
export function findSchemaFaults(db: DatabaseSync): SchemaFault[] {
  const { required, optional } = getExpectedSchema(getUserVersion(db));
  const found = readSchema(db);
  const known = new Map([...optional, ...required]);
  const unexpected = [...found].filter(([key, entry]) => !isSameEntry(known.get(key), entry)).map(([, entry]) => entry);
  const missing = [...required].filter(([key]) => !found.has(key)).map(([, entry]) => entry);
  return [
    ...unexpected.map((entry) => ({
      what: `the ${entry.type} \`${entry.name}\` is not one that Retinue creates`,
      // An additional trigger, view or index is not used by our queries.
      affectsReading: entry.type === 'table' && known.has(toKey(entry)),
    })),
    ...missing.map((entry) => ({ what: `the ${entry.type} \`${entry.name}\` is missing`, affectsReading: entry.type === 'table' })),
  ];
}

/** Throws `store_corrupt` if the schema is not exactly that of the version; for reading, only if it affects what is read. */
export function assertSchema(db: DatabaseSync, path: string, purpose: 'read' | 'write'): void {
  const faults = findSchemaFaults(db).filter(({ affectsReading }) => purpose === 'write' || affectsReading);
  if (faults.length === 0) return;
  const named = faults.slice(0, maxNamed).map(({ what }) => what);
  throw createSchemaError(path, named.join('; ') + (faults.length > maxNamed ? `; and ${faults.length - maxNamed} more` : ''));
}

function createSchemaError(path: string, what: string): RetinueError {
  return new RetinueError(
    'store_corrupt',
    `The database ${path} was changed by another program: ${what}. It may try to make Retinue do something, so nothing is written to it. Inspect it with \`retinue verify\`, or choose another database.`,
  );
}

/**
 * Makes the connection refuse what the content of a hostile file could cause. The authorizer is asked while a statement is compiled: the code of
 * a trigger is part of the statement that fires it, so such a statement fails before it does anything.
 */
export function guardConnection(db: DatabaseSync): void {
  db.enableDefensive(true);
  db.exec('PRAGMA trusted_schema = OFF');
  const ownViews = new Set([...getExpectedSchema(migrations.length).required.values()].filter(isView).map(({ name }) => name));
  db.setAuthorizer((_action, _first, _second, _database, source) =>
    source === null || ownViews.has(source) ? constants.SQLITE_OK : constants.SQLITE_DENY,
  );
}

function isView({ type }: SchemaEntry): boolean {
  return type === 'view';
}

/** `required`: what the migrations create. `optional`: also what is added on demand. */
interface ExpectedSchema {
  required: Map<string, SchemaEntry>;
  optional: Map<string, SchemaEntry>;
}

/** By version. They never change, and building one takes as long as opening a database. */
const expectedSchemas = new Map<number, ExpectedSchema>();

function getExpectedSchema(version: number): ExpectedSchema {
  const expected = expectedSchemas.get(version) ?? buildExpectedSchema(version);
  expectedSchemas.set(version, expected);
  return expected;
}

function buildExpectedSchema(version: number): ExpectedSchema {
  const db = new DatabaseSync(':memory:');
  try {
    for (const step of migrations.slice(0, version)) step(db, {});
    const required = readSchema(db);
    db.exec(notesTables);
    return { required, optional: readSchema(db) };
  } finally {
    db.close();
  }
}

function readSchema(db: DatabaseSync): Map<string, SchemaEntry> {
  const entries = db.prepare('SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema').all() as unknown as SchemaEntry[];
  return new Map(entries.map((entry) => [toKey(entry), entry]));
}

function toKey({ type, name }: SchemaEntry): string {
  return `${type} ${name.toLowerCase()}`;
}

function isSameEntry(expected: SchemaEntry | undefined, { table, sql }: SchemaEntry): boolean {
  return expected !== undefined && expected.table === table && expected.sql === sql;
}
