// Reads facts, runs and blobs.
import type { StatementSync } from 'node:sqlite';
import { type CompiledQuery, type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { RetinueError } from '../../contract/error.ts';
import type { ErasedFact, StoredFact } from '../../contract/fact.ts';
import type { RunRow } from '../../contract/run.ts';
import type { BlobContent, FactQuery, RunQuery, SearchOptions, Store } from '../../ports/store.ts';
import { type FactRow, rowToFact, rowToRun, rowToTrailFact } from '../stored-rows.ts';
import { searchRows } from './search.ts';
import { readInSlices } from './slices.ts';
import type { Tables } from './tables.ts';

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
  db: Kysely<Tables>;
  statements: (sql: string) => StatementSync;
  path: string;
}

type Row = Omit<Tables['facts'], 'run' | 'tree'> & { runId: string };

const toFactRow = (row: unknown): FactRow => ({ ...(row as Row), position: String((row as Row).position) });

export function createQueries({ db, statements, path }: QueryDeps): Queries {
  const findRun = async (query: SelectQueryBuilder<Tables, 'runs', { id: string; row: string | null }>) => {
    const found = await query.where('row', 'is not', null).executeTakeFirst();
    return found === undefined ? null : rowToRun(found, path);
  };
  const runs = db.selectFrom('runs').select(['id', 'row']);

  const readNewest = () => (statements('SELECT max(position) AS newest FROM facts').get()?.newest ?? 0) as number;

  return {
    async cursor(after) {
      const newest = readNewest();
      const position = after === undefined ? Number.NaN : Number(after);
      const isPosition = after !== '' && Number.isSafeInteger(position) && position >= 0 && position <= newest;
      return { newest: String(newest), behind: isPosition ? newest - position : null };
    },
    async search(text, options) {
      const rows = await searchRows(statements, text, { ...options, newest: readNewest() });
      return rows.map((row) => rowToFact(toFactRow(row), path));
    },
    facts(query) {
      const select = createFactsQuery(db, query);
      const start = query.after === undefined ? 0 : parsePosition(query.after);
      const page = (cursor: number | null, limit: number) => select(cursor ?? start, limit);
      return readInSlices(statements, page, (row) => [rowToFact(toFactRow(row), path), (row as Row).position], query.limit);
    },
    trail(runId) {
      const select = createFactsQuery(db, { runId, erased: true });
      const page = (cursor: number | null, limit: number) => select(cursor ?? 0, limit);
      return readInSlices(statements, page, (row) => [rowToTrailFact(toFactRow(row), path), (row as Row).position]);
    },
    runs(query) {
      type RunEntry = { n: number; id: string; row: string };
      const page = createRunsQuery(db, query);
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
    run: (runId) => findRun(runs.where('id', '=', runId)),
    runByKey: (parentId, key) => findRun(runs.where(sql`coalesce(parent, '')`, '=', parentId ?? '').where('key', '=', key)),
    async blob(hash) {
      return (await db.selectFrom('blobs').select('text').where('hash', '=', hash).executeTakeFirst())?.text ?? null;
    },
  };
}

/** The unary plus prevents SQLite from scanning all facts after a position where the index of the run is faster. */
export function createFactsQuery(db: Kysely<Tables>, { runId, rootId, types, erased }: FactQuery & { erased?: boolean }) {
  return (after: number, limit: number): CompiledQuery => {
    let query = db
      .selectFrom('facts as f')
      .select(['f.position', 'f.seq', 'f.at', 'f.v', 'f.type', 'f.data', 'f.hash'])
      .select((eb) => eb.selectFrom('runs').select('runs.id').whereRef('runs.n', '=', 'f.run').as('runId'))
      .limit(limit);
    if (runId === undefined) query = query.where('f.position', '>', after).orderBy('f.position');
    else {
      query = query.where('f.run', '=', (eb) => eb.selectFrom('runs').select('runs.n').where('runs.id', '=', runId));
      query = query.where(sql`+f.position`, '>', after).orderBy('f.seq');
    }
    if (rootId !== undefined) {
      const tree = db.selectFrom('trees').select('trees.n').where('trees.root', '=', rootId);
      query = runId === undefined ? query.where('f.tree', '=', tree) : query.where(sql`+f.tree`, '=', tree);
    }
    if (erased !== true) query = query.where('f.data', '<>', '');
    if (types !== undefined) query = query.where('f.type', 'in', types);
    return query.compile();
  };
}

export function createRunsQuery(db: Kysely<Tables>, { rootId, parentId, live, prefix, roots, before, order }: RunQuery) {
  const isDescending = order !== 'oldest';
  return (cursor: number | null, limit: number): CompiledQuery => {
    let query = db.selectFrom('runs').select(['n', 'id', 'row']).where('row', 'is not', null).limit(limit);
    if (rootId !== undefined) query = query.where('tree', '=', (eb) => eb.selectFrom('trees').select('trees.n').where('root', '=', rootId));
    if (parentId !== undefined) query = query.where('parent', '=', parentId);
    if (before !== undefined) query = query.where('n', '<', (eb) => eb.selectFrom('runs').select('n').where('id', '=', before));
    if (roots === true) query = query.where('parent', 'is', null);
    if (live !== undefined) query = query.where('live', '=', sql.lit(live ? 1 : 0));
    // U+10FFFF sorts after every other character.
    if (prefix !== undefined) query = query.where('id', '>=', prefix).where('id', '<', `${prefix}\u{10ffff}`);
    // With a prefix, sort the few matches (`+n`) instead of scanning all runs in order.
    const n = prefix === undefined ? sql<number>`n` : sql<number>`+n`;
    if (cursor !== null) query = query.where(n, isDescending ? '<' : '>', cursor);
    return query.orderBy(n, isDescending ? 'desc' : 'asc').compile();
  };
}

function parsePosition(text: string): number {
  const position = Number(text);
  if (text === '' || !Number.isSafeInteger(position)) throw new RetinueError('usage', `"${text}" is not a position of this store.`);
  return position;
}
