// Reads facts, runs and blobs.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { ErasedFact, StoredFact } from '../../contract/fact.ts';
import type { RunRow } from '../../contract/run.ts';
import type { BlobContent, FactQuery, RunQuery, Store } from '../../ports/store.ts';
import { type FactRow, rowToFact, rowToRun, rowToTrailFact } from '../stored-rows.ts';
import type { Connections } from './connections.ts';
import { encodeText } from './encode.ts';
import { formatPosition, oldestOpen, type Position, parsePosition, readPosition, startPosition } from './positions.ts';
import type { Tables } from './tables.ts';
import { describeAddress } from './url.ts';

export interface Queries {
  facts(query: FactQuery): Promise<StoredFact[]>;
  cursor: Store['cursor'];
  trail(runId: string): Promise<(StoredFact | ErasedFact)[]>;
  runs(query: RunQuery): Promise<RunRow[]>;
  countRuns: Store['countRuns'];
  run(runId: string): Promise<RunRow | null>;
  runByKey(parentId: string | null, key: string): Promise<RunRow | null>;
  blob(hash: string): Promise<BlobContent | null>;
}

/** Rows in one answer. The event loop runs between two answers. */
const pageSize = 200;
const runPageSize = 500;
/** How far behind a cursor is counted exactly. */
const maxCounted = 100_000;
const sliceMs = 8;

export type FoundFact = Omit<Tables['facts'], 'run' | 'tree'> & { runId: string };

export function toFactRow({ xid, n, ...row }: FoundFact): FactRow {
  return { ...row, position: formatPosition({ xid, n }) };
}

export function createQueries(connections: Connections): Queries {
  const { kysely: db, schema: s } = connections;
  const name = describeAddress(connections.address);

  async function readFacts<T>(query: FactQuery & { erased?: boolean }, convert: (row: FactRow) => T): Promise<T[]> {
    const { limit = Number.POSITIVE_INFINITY } = query;
    const facts: T[] = [];
    let after: Position | null = query.after === undefined ? null : parsePosition(query.after);
    while (facts.length < limit) {
      const size = Math.min(pageSize, limit - facts.length);
      const page = await connections.retry(() => createFactsQuery(connections, query)(after, size).execute());
      await convertInSlices(page, (row) => facts.push(convert(toFactRow(row))));
      const last = page.at(-1);
      if (page.length < size || last === undefined) break;
      after = { xid: last.xid, n: String(last.n) };
    }
    return facts;
  }

  async function readRuns(query: RunQuery): Promise<RunRow[]> {
    const { limit = Number.POSITIVE_INFINITY } = query;
    const runs: RunRow[] = [];
    let after: number | null = null;
    while (runs.length < limit) {
      const size = Math.min(runPageSize, limit - runs.length);
      const cursor = after;
      const page: { n: number; id: string; row: string | null }[] = await connections.retry(() =>
        createRunsQuery(connections, query)(cursor, size).execute(),
      );
      await convertInSlices(page, (row) => runs.push(rowToRun(row, name)));
      if (page.length < size) break;
      after = page.at(-1)?.n ?? null;
    }
    return runs;
  }

  const findRun = async (query: SelectQueryBuilder<Tables, 'runs', { id: string; row: string | null }>) => {
    const found = await connections.retry(() => query.where('row', 'is not', null).executeTakeFirst());
    return found === undefined ? null : rowToRun(found, name);
  };
  const runs = db.selectFrom('runs').select(['id', 'row']);

  return {
    facts: (query) => readFacts(query, (row) => rowToFact(row, name)),
    trail: (runId) => readFacts({ runId, erased: true }, (row) => rowToTrailFact(row, name)),
    runs: readRuns,
    async countRuns(rootIds) {
      const found = await connections.query<{ root: string; runs: number; live: number }>({
        text: `SELECT trees.root, count(*)::integer AS runs, (count(*) FILTER (WHERE runs.live))::integer AS live
          FROM ${s}.trees JOIN ${s}.runs ON runs.tree = trees.n WHERE trees.root = ANY($1) AND runs.row IS NOT NULL GROUP BY trees.root`,
        values: [rootIds],
      });
      return new Map(found.map(({ root, runs: count, live }) => [root, { runs: count, live }]));
    },
    run: (runId) => findRun(runs.where('id', '=', runId)),
    runByKey: (parentId, key) => findRun(runs.where(sql`coalesce(parent, '')`, '=', parentId ?? '').where('key', '=', encodeText(key))),

    async cursor(after) {
      const position = after === undefined ? null : readPosition(after);
      const [found] = await connections.query<{ newest: string[]; known: boolean; counted: number; highest: number }>({
        name: 'cursor',
        text: `SELECT
            ARRAY(SELECT xid || '-' || n FROM ${s}.facts WHERE xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid DESC, n DESC LIMIT 1) AS newest,
            ($1 = '0' AND $2 = '0') OR EXISTS (SELECT 1 FROM ${s}.facts WHERE xid = $1::xid8 AND n = $2::bigint) AS known,
            (SELECT count(*) FROM (SELECT 1 FROM ${s}.facts WHERE (xid, n) > ($1::xid8, $2::bigint) LIMIT ${maxCounted}) AS later) AS counted,
            (SELECT last_value FROM ${s}.facts_n) AS highest`,
        values: [position?.xid ?? '0', position?.n ?? '0'],
      });
      const { newest, known, counted, highest } = found as NonNullable<typeof found>;
      const behind = position === null || !known ? null : counted < maxCounted ? counted : Math.max(counted, highest);
      return { newest: newest[0] ?? startPosition, behind };
    },

    async blob(hash) {
      const [found] = await connections.query<{ content: Buffer; isText: boolean }>({
        text: `SELECT content, is_text AS "isText" FROM ${s}.blobs WHERE hash = $1`,
        values: [hash],
      });
      if (found === undefined) return null;
      return found.isText ? found.content.toString('utf8') : new Uint8Array(found.content);
    },
  };
}

/** Converts rows, and lets the event loop run every few milliseconds. */
async function convertInSlices<Row>(rows: Row[], convert: (row: Row) => void): Promise<void> {
  let sliceEnd = performance.now() + sliceMs;
  for (const row of rows) {
    convert(row);
    if (performance.now() < sliceEnd) continue;
    await yieldToEventLoop();
    sliceEnd = performance.now() + sliceMs;
  }
}

/** After a position: the order of two columns that are compared together. */
function isAfter({ xid, n }: Position): RawBuilder<boolean> {
  return sql<boolean>`(f.xid, f.n) > (${xid}::xid8, ${n}::bigint)`;
}

/** A reader of all trees sees only what is complete (positions.ts). */
export function createFactsQuery({ kysely: db }: Connections, { runId, rootId, types, erased }: FactQuery & { erased?: boolean }) {
  return (after: Position | null, limit: number) => {
    let query = db
      .selectFrom('facts as f')
      .select(['f.xid', 'f.n', 'f.seq', 'f.at', 'f.v', 'f.type', 'f.data', 'f.hash'])
      .select((eb) => eb.selectFrom('runs').select('runs.id').whereRef('runs.n', '=', 'f.run').$asScalar().$notNull().as('runId'))
      .limit(limit);
    if (after !== null) query = query.where(isAfter(after));
    if (runId !== undefined) query = query.where('f.run', '=', (eb) => eb.selectFrom('runs').select('runs.n').where('runs.id', '=', runId));
    if (rootId !== undefined)
      query = query.where('f.tree', '=', (eb) => eb.selectFrom('trees').select('trees.n').where('trees.root', '=', rootId));
    if (runId === undefined && rootId === undefined) query = query.where('f.xid', '<', oldestOpen);
    query = runId === undefined ? query.orderBy('f.xid').orderBy('f.n') : query.orderBy('f.seq');
    if (erased !== true) query = query.where('f.data', '<>', '');
    if (types !== undefined) query = query.where('f.type', 'in', types);
    return query;
  };
}

export function createRunsQuery({ kysely: db }: Connections, { rootId, parentId, live, prefix, roots, before, order }: RunQuery) {
  const isDescending = order !== 'oldest';
  return (cursor: number | null, limit: number) => {
    let query = db.selectFrom('runs').select(['n', 'id', 'row']).where('row', 'is not', null).limit(limit);
    if (rootId !== undefined) query = query.where('tree', '=', (eb) => eb.selectFrom('trees').select('trees.n').where('root', '=', rootId));
    if (parentId !== undefined) query = query.where('parent', '=', parentId);
    if (before !== undefined) query = query.where('n', '<', (eb) => eb.selectFrom('runs as b').select('b.n').where('b.id', '=', before));
    if (roots === true) query = query.where('parent', 'is', null);
    if (live !== undefined) query = query.where('live', '=', sql.lit(live));
    // U+10FFFF sorts after every other character.
    if (prefix !== undefined) query = query.where('id', '>=', prefix).where('id', '<', `${prefix}\u{10ffff}`);
    if (cursor !== null) query = query.where('n', isDescending ? '<' : '>', cursor);
    return query.orderBy('n', isDescending ? 'desc' : 'asc');
  };
}
