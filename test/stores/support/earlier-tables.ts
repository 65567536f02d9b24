// SQL that turns tables of a current database back into those of an earlier version.
import { DatabaseSync } from 'node:sqlite';
import { migrations } from '../../../src/stores/sqlite/migrations.ts';

/** The tables of version 6, of which only that of owners has changed; later ones are dropped. The text of a table is a part of the schema, so it comes from the migration itself. */
export function restoreOwnersTable(): string {
  using db = new DatabaseSync(':memory:');
  migrations[0]?.(db, {});
  const later = 'DROP TABLE budgets; DROP TABLE budget_draws; DROP TABLE budget_sums; DROP TABLE provider_limits;';
  return `${later} DROP TABLE owners; ${db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'owners'").get()?.sql};`;
}
