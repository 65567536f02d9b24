// SQL that turns tables of a current database back into those of an earlier version.
import { DatabaseSync } from 'node:sqlite';
import { migrations } from '../../../src/stores/sqlite/migrations.ts';

/** The table of owners as it was up to version 6. The text of a table is a part of the schema, so it comes from the migration itself. */
export function restoreOwnersTable(): string {
  using db = new DatabaseSync(':memory:');
  migrations[0]?.(db, {});
  return `DROP TABLE owners; ${db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'owners'").get()?.sql};`;
}
