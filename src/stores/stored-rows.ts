// Rows of a database as facts and runs. `database` names it in messages.
import { RetinueError } from '../contract/error.ts';
import type { ErasedFact, StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';

/** `data`: the JSON of the fact's data; empty if it was erased. */
export interface FactRow {
  runId: string;
  seq: number;
  at: string;
  v: number;
  type: string;
  data: string;
  hash: string;
  position: string;
}

/** `readData`: from the stored text; throws if it is damaged. */
export function rowToFact<Row extends FactRow>(row: Row, database: string, readData: (row: Row) => unknown = parseData): StoredFact {
  const { runId, seq, at, v, type, hash, position } = row;
  try {
    return { runId, seq, at, v, type, data: readData(row), hash, position } as StoredFact;
  } catch (cause) {
    throw createDamagedError(`Fact ${seq} of run ${runId}`, database, cause);
  }
}

function parseData({ data }: FactRow): unknown {
  return JSON.parse(data);
}

/** An erased fact keeps everything except its data. */
export function rowToTrailFact<Row extends FactRow>(row: Row, database: string, readData?: (row: Row) => unknown): StoredFact | ErasedFact {
  const { runId, seq, at, v, type, hash, position } = row;
  if (row.data !== '') return rowToFact(row, database, readData);
  return { runId, seq, at, v, type: type as ErasedFact['type'], hash, erased: true, position };
}

export function rowToRun({ id, row }: { id: string; row: string | null }, database: string): RunRow {
  let parsed: RunRow | null;
  try {
    parsed = JSON.parse(row as string) as RunRow | null;
  } catch (cause) {
    throw createDamagedError(`The row of run ${id}`, database, cause);
  }
  if (parsed?.runId !== id)
    throw new RetinueError('store_corrupt', `The row of run ${id} in the database ${database} is damaged: it is not its row.`);
  return parsed;
}

function createDamagedError(what: string, database: string, cause: unknown): RetinueError {
  return new RetinueError('store_corrupt', `${what} in the database ${database} is damaged: it is not JSON.`, { cause });
}

/** `text` as it appears inside the JSON of a fact, as a pattern for LIKE with `\` as the escape character. */
export function textToPattern(text: string): string {
  return `%${JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\\%_]/g, '\\$&')}%`;
}
