// Queries must use an index, so that their cost does not grow with the number of other rows.
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { migrations } from '../../src/stores/sqlite/migrations.ts';
import { createFactsQuery, createRunsQuery } from '../../src/stores/sqlite/queries.ts';
import { createStatements } from '../../src/stores/sqlite/tables.ts';

const db = new DatabaseSync(':memory:');
for (const step of migrations) step(db, {});
const statements = createStatements(db);

function explainQuery({ sql, parameters }: { sql: string; parameters: readonly unknown[] }): string {
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...(parameters as string[]));
  return steps.map(({ detail }) => detail).join('; ');
}

describe('runs', () => {
  it.each([
    [{ prefix: 'ab' }, 'INDEX sqlite_autoindex_runs_1 (id>? AND id<?)'],
    [{ prefix: 'ab', limit: 5 }, 'INDEX sqlite_autoindex_runs_1 (id>? AND id<?)'],
    [{ parentId: 'x' }, 'INDEX runs_parent (parent=?'],
    [{ roots: true, limit: 1 }, 'INDEX runs_parent (parent=?'],
    [{ rootId: 'x' }, 'INDEX runs_tree (tree=?'],
    [{ rootId: 'x', live: true }, 'INDEX runs_'],
    [{ live: true }, 'INDEX runs_live (live=?'],
  ])('%j', (query, expected) => {
    expect(explainQuery(createRunsQuery(query)(null, 10))).toContain(expected);
    expect(explainQuery(createRunsQuery(query)(7, 10))).toContain(expected);
  });

  it('are scanned in order without sorting if there is no condition', () => {
    expect(explainQuery(createRunsQuery({})(null, 10))).not.toContain('TEMP B-TREE');
    expect(explainQuery(createRunsQuery({ roots: true })(null, 10))).not.toContain('TEMP B-TREE');
  });
});

describe('facts', () => {
  it.each([
    [{ runId: 'x' }, 'INDEX facts_run (run=?)'],
    [{ runId: 'x', rootId: 'y', types: ['run.ended' as const] }, 'INDEX facts_run (run=?)'],
    [{ rootId: 'x' }, 'INDEX facts_tree (tree=? AND rowid>?)'],
    [{}, 'INTEGER PRIMARY KEY (rowid>?)'],
  ])('%j', (query, expected) => {
    const plan = explainQuery(createFactsQuery(query, migrations.length)(7, 10));
    expect(plan).toContain(expected);
    expect(plan).not.toContain('TEMP B-TREE');
  });
});

it('a statement is prepared once, and the number of statements is limited', () => {
  expect(statements('SELECT 1')).toBe(statements('SELECT 1'));
  const first = statements('SELECT 2');
  for (let n = 0; n < 200; n++) statements(`SELECT ${n} AS n`);
  expect(statements('SELECT 2')).not.toBe(first);
});
