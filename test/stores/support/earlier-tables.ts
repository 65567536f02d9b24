// SQL that turns tables of a current database back into those of an earlier version.
import { DatabaseSync } from 'node:sqlite';
import { migrations } from '../../../src/stores/sqlite/migrations.ts';

const laterTables = ['budgets', 'budget_draws', 'budget_sums', 'provider_limits'];

/**
 * The tables of version 6: those of owners and facts were different, and later ones are dropped. The text of a table is a part of the schema, so it
 * comes from the migrations themselves.
 */
export function restoreVersion6(): string {
  using db = new DatabaseSync(':memory:');
  for (const step of migrations.slice(0, 6)) step(db, {});
  const create = (...names: string[]) =>
    names.map((name) => `${db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(name)?.sql};`).join(' ');
  return `
    CREATE TABLE kept AS SELECT position, run, seq, tree, at, v, type, data, hash FROM whole_facts;
    DROP VIEW sub_sessions; DROP VIEW whole_facts; DROP TABLE facts; DROP TABLE owners;
    ${laterTables.map((name) => `DROP TABLE ${name};`).join(' ')}
    ${create('facts', 'facts_run', 'facts_tree', 'owners')}
    INSERT INTO facts SELECT * FROM kept; DROP TABLE kept;
    ${create('sub_sessions')}`;
}
