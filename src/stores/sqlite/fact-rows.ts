// Rows of the table `facts` as facts. Works on databases of every version.
import type { ErasedFact, StoredFact } from '../../contract/fact.ts';
import { type FactRow, rowToFact, rowToTrailFact } from '../stored-rows.ts';
import { decodeInstant, selectHash } from './fact-columns.ts';
import { createDifferenceDecoder, differencesVersion, maxBaseBytes } from './fact-differences.ts';
import type { Tables } from './tables.ts';

type Row = Omit<Tables['facts'], 'run' | 'tree' | 'hash'> & { hash: string; runId: string; baseData: string | null };

/**
 * What a query of facts selects, and from what. Facts `f` of earlier versions have no base. A base that is longer than Retinue writes one counts as
 * missing: in a hostile file, each of many facts could name it, and reading them would take far more memory and time than the file has bytes.
 */
export function selectFacts(version: number): string {
  const columns = `f.position, f.seq, f.at, f.v, f.type, f.data, ${selectHash('f.hash')} AS hash,
    (SELECT runs.id FROM runs WHERE runs.n = f.run) AS runId`;
  if (version < differencesVersion) return `SELECT ${columns}, NULL AS base, NULL AS baseData FROM facts AS f`;
  return `SELECT ${columns}, f.base, b.data AS baseData
    FROM facts AS f LEFT JOIN facts AS b ON b.position = f.base AND octet_length(b.data) <= ${maxBaseBytes}`;
}

/** SQL for the whole data of a fact of `selectFacts`. Damaged data stays as it is. */
export function selectWholeData(version: number): string {
  if (version < differencesVersion) return 'f.data';
  return 'CASE WHEN json_valid(f.data) AND json_valid(b.data) THEN json_patch(b.data, f.data) ELSE f.data END';
}

export interface FactReader {
  /** Throws `store_corrupt` for a damaged row. */
  toFact(row: unknown): StoredFact;
  toTrailFact(row: unknown): StoredFact | ErasedFact;
  toPosition(row: unknown): number;
}

/** For rows of `selectFacts`. `path` names the database in messages. */
export function createFactReader(path: string): FactReader {
  const { decode } = createDifferenceDecoder();
  return {
    toFact: (row) => rowToFact(toFactRow(row), path, decode),
    toTrailFact: (row) => rowToTrailFact(toFactRow(row), path, decode),
    toPosition: (row) => (row as Row).position,
  };
}

function toFactRow(row: unknown): FactRow & Pick<Row, 'base' | 'baseData'> {
  const { position, at, ...rest } = row as Row;
  return { ...rest, at: decodeInstant(at), position: String(position) };
}
