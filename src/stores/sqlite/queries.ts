// Reads facts, runs and blobs.
import type { SQLInputValue } from 'node:sqlite';
import { RetinueError } from '../../contract/error.ts';
import type { ErasedFact, StoredFact } from '../../contract/fact.ts';
import type { RunRow } from '../../contract/run.ts';
import type { BlobContent, FactQuery, RunQuery, SearchOptions, Store } from '../../ports/store.ts';
import { rowToRun } from '../stored-rows.ts';
import { createFactReader, selectFacts } from './fact-rows.ts';
import { searchRows } from './search.ts';
import { readInSlices } from './slices.ts';
import type { SqlQuery, Statements } from './tables.ts';

export interface Queries {
  facts(query: FactQuery): Promise<StoredFact[]>;
  cursor: Store['cursor'];
  search(text: string, options: SearchOptions): Promise<StoredFact[]>;
  trail(runId: string): Promise<(StoredFact | ErasedFact)[]>;
  runs(query: RunQuery): Promise<RunRow[]>;
  countRuns: Store['countRuns'];
  run(runId: string): Promise<RunRow | null>;
  runByKey(parentId: string | null, key: string): Promise<RunRow | null>;
  blob(hash: string): Promise<BlobContent | null>;
}

export interface QueryDeps {
  statements: Statements;
  path: string;
  /** `user_version` of the database. */
  version: number;
}

export function createQueries({ statements, path, version }: QueryDeps): Queries {
  const { toFact, toTrailFact, toPosition } = createFactReader(path);
  const findRun = (where: string, ...values: string[]) => {
    const found = statements(`SELECT id, row FROM runs WHERE ${where} AND row IS NOT NULL`).get(...values);
    return found === undefined ? null : rowToRun(found as { id: string; row: string }, path);
  };

  const readNewest = () => (statements('SELECT max(position) AS newest FROM facts').get()?.newest ?? 0) as number;

  return {
    async cursor(after) {
      const newest = readNewest();
      const position = after === undefined ? Number.NaN : Number(after);
      const isPosition = after !== '' && Number.isSafeInteger(position) && position >= 0 && position <= newest;
      return { newest: String(newest), behind: isPosition ? newest - position : null };
    },
    async search(text, options) {
      const rows = await searchRows(statements, text, { ...options, newest: readNewest(), version });
      return rows.map(toFact);
    },
    facts(query) {
      const select = createFactsQuery(query, version);
      const start = query.after === undefined ? 0 : parsePosition(query.after);
      const page = (cursor: number | null, limit: number) => select(cursor ?? start, limit);
      return readInSlices(statements, page, (row) => [toFact(row), toPosition(row)], query.limit);
    },
    trail(runId) {
      const select = createFactsQuery({ runId, erased: true }, version);
      const page = (cursor: number | null, limit: number) => select(cursor ?? 0, limit);
      return readInSlices(statements, page, (row) => [toTrailFact(row), toPosition(row)]);
    },
    runs(query) {
      type RunEntry = { n: number; id: string; row: string };
      const page = createRunsQuery(query);
      return readInSlices(statements, page, (row) => [rowToRun(row as RunEntry, path), (row as RunEntry).n], query.limit);
    },
    async countRuns(rootIds) {
      const select = statements(`SELECT count(*) AS runs, coalesce(sum(live), 0) AS live FROM runs
        WHERE tree = (SELECT n FROM trees WHERE root = ?) AND row IS NOT NULL`);
      const counts: Awaited<ReturnType<Store['countRuns']>> = new Map();
      for (const rootId of rootIds) {
        const { runs, live } = select.get(rootId) as { runs: number; live: number };
        if (runs > 0) counts.set(rootId, { runs, live });
      }
      return counts;
    },
    run: async (runId) => findRun('id = ?', runId),
    runByKey: async (parentId, key) => findRun("coalesce(parent, '') = ? AND key = ?", parentId ?? '', key),
    async blob(hash) {
      return (statements('SELECT text FROM blobs WHERE hash = ?').get(hash)?.text as BlobContent | undefined) ?? null;
    },
  };
}

/** Collects conditions and their values. */
function createConditions() {
  const texts: string[] = [];
  const parameters: SQLInputValue[] = [];
  return {
    parameters,
    add(text: string, ...values: SQLInputValue[]): void {
      texts.push(text);
      parameters.push(...values);
    },
    sql: () => (texts.length === 0 ? '' : `WHERE ${texts.join(' AND ')}`),
  };
}

/** The unary plus prevents SQLite from scanning all facts after a position where the index of the run is faster. */
export function createFactsQuery({ runId, rootId, types, erased }: FactQuery & { erased?: boolean }, version: number) {
  return (after: number, limit: number): SqlQuery => {
    const { add, parameters, sql } = createConditions();
    if (runId === undefined) add('f.position > ?', after);
    else {
      add('f.run = (SELECT runs.n FROM runs WHERE runs.id = ?)', runId);
      add('+f.position > ?', after);
    }
    if (rootId !== undefined) add(`${runId === undefined ? '' : '+'}f.tree = (SELECT trees.n FROM trees WHERE trees.root = ?)`, rootId);
    if (erased !== true) add("f.data <> ''");
    if (types !== undefined) add(`f.type IN (${types.map(() => '?').join(', ')})`, ...types);
    const order = runId === undefined ? 'f.position' : 'f.seq';
    return { sql: `${selectFacts(version)} ${sql()} ORDER BY ${order} LIMIT ?`, parameters: [...parameters, limit] };
  };
}

export function createRunsQuery({ rootId, parentId, live, prefix, roots, before, order }: RunQuery) {
  const isDescending = order !== 'oldest';
  return (cursor: number | null, limit: number): SqlQuery => {
    const { add, parameters, sql } = createConditions();
    add('row IS NOT NULL');
    if (rootId !== undefined) add('tree = (SELECT n FROM trees WHERE root = ?)', rootId);
    if (parentId !== undefined) add('parent = ?', parentId);
    if (before !== undefined) add('n < (SELECT n FROM runs WHERE id = ?)', before);
    if (roots === true) add('parent IS NULL');
    if (live !== undefined) add(`live = ${live ? 1 : 0}`);
    // U+10FFFF sorts after every other character.
    if (prefix !== undefined) add('id >= ? AND id < ?', prefix, `${prefix}\u{10ffff}`);
    // With a prefix, sort the few matches (`+n`) instead of scanning all runs in order.
    const n = prefix === undefined ? 'n' : '+n';
    if (cursor !== null) add(`${n} ${isDescending ? '<' : '>'} ?`, cursor);
    const direction = isDescending ? 'DESC' : 'ASC';
    return { sql: `SELECT n, id, row FROM runs ${sql()} ORDER BY ${n} ${direction} LIMIT ?`, parameters: [...parameters, limit] };
  };
}

function parsePosition(text: string): number {
  const position = Number(text);
  if (text === '' || !Number.isSafeInteger(position)) throw new RetinueError('usage', `"${text}" is not a position of this store.`);
  return position;
}
