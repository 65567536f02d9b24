// Reading facts and runs of a memory store.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { RetinueError } from '../../contract/error.ts';
import type { ErasedFact, StoredFact } from '../../contract/fact.ts';
import type { RunRow } from '../../contract/run.ts';
import { isLive } from '../../contract/run-status.ts';
import type { FactQuery, RunCount, RunQuery, SearchOptions } from '../../ports/store.ts';
import { copyRow, type FactRecord, type MemoryData, type RunRecord } from './data.ts';

/** This much is read in a few milliseconds. Counted, not timed, so that simulations do not depend on the speed of the machine. */
const sliceCharacters = 500_000;

/** Yields to the event loop after every slice. */
export async function readFacts(memory: MemoryData, { runId, rootId, types, after, limit }: FactQuery): Promise<StoredFact[]> {
  const run = runId === undefined ? undefined : memory.runs.get(runId);
  if (runId !== undefined && (run === undefined || (rootId !== undefined && run.rootId !== rootId))) return [];
  const records = run?.facts ?? (rootId === undefined ? memory.facts : (memory.trees.get(rootId)?.facts ?? []));
  const wanted = types === undefined ? null : new Set<string>(types);
  const found: StoredFact[] = [];
  let charactersLeft = sliceCharacters;
  for (let index = after === undefined ? 0 : findFirstAfter(records, parsePosition(after)); index < records.length; index++) {
    if (found.length >= (limit ?? Number.POSITIVE_INFINITY)) break;
    const fact = records[index] as FactRecord;
    if (wanted !== null && !wanted.has(fact.type)) continue;
    if (fact.text === '') continue;
    found.push(toFact(fact) as StoredFact);
    charactersLeft -= fact.text.length;
    if (charactersLeft <= 0) {
      await yieldToEventLoop();
      charactersLeft = sliceCharacters;
    }
  }
  return found;
}

export function readCursor(memory: MemoryData, after: string | undefined): { newest: string; behind: number | null } {
  const newest = memory.facts.length;
  const position = after === undefined ? Number.NaN : Number(after);
  const isPosition = after !== '' && Number.isSafeInteger(position) && position >= 0 && position <= newest;
  return { newest: String(newest), behind: isPosition ? newest - position : null };
}

/** Yields to the event loop after every slice. */
export async function searchFacts(memory: MemoryData, text: string, { limit, signal }: SearchOptions): Promise<StoredFact[]> {
  const wanted = JSON.stringify(text).slice(1, -1).toLowerCase();
  const found: StoredFact[] = [];
  let charactersLeft = sliceCharacters;
  for (let index = memory.facts.length - 1; index >= 0 && found.length < limit && !signal?.aborted; index--) {
    const fact = memory.facts[index] as FactRecord;
    if (fact.text.toLowerCase().includes(wanted)) found.push(toFact(fact) as StoredFact);
    charactersLeft -= fact.text.length;
    if (charactersLeft > 0) continue;
    await yieldToEventLoop();
    charactersLeft = sliceCharacters;
  }
  return found;
}

export function readTrail(memory: MemoryData, runId: string): (StoredFact | ErasedFact)[] {
  return (memory.runs.get(runId)?.facts ?? []).map(toFact);
}

function toFact({ text, position, ...head }: FactRecord): StoredFact | ErasedFact {
  if (text === '') return { ...head, erased: true, position: String(position) };
  return { ...head, data: JSON.parse(text), position: String(position) } as StoredFact;
}

/** Searches the smallest list that contains every match. */
export function readRuns(memory: MemoryData, query: RunQuery): RunRow[] {
  const limit = query.limit ?? Number.POSITIVE_INFINITY;
  const sign = query.order === 'oldest' ? 1 : -1;
  const candidates = [...chooseCandidates(memory, query)].sort((a, b) => sign * (a.n - b.n));
  const found: RunRow[] = [];
  const end = query.before === undefined ? Number.POSITIVE_INFINITY : (memory.runs.get(query.before)?.n ?? 0);
  for (const { row, n } of candidates) {
    if (found.length >= limit) break;
    if (n < end && row !== null && matches(row, query)) found.push(copyRow(row));
  }
  return found;
}

export function countRuns(memory: MemoryData, rootIds: string[]): Map<string, RunCount> {
  const counts = new Map<string, RunCount>();
  for (const rootId of rootIds) {
    const rows = (memory.trees.get(rootId)?.runs ?? []).flatMap(({ row }) => row ?? []);
    if (rows.length > 0) counts.set(rootId, { runs: rows.length, live: rows.filter(({ status }) => isLive(status)).length });
  }
  return counts;
}

export function getRow(run: RunRecord | undefined): RunRow | null {
  return run?.row ? copyRow(run.row) : null;
}

function chooseCandidates(memory: MemoryData, { rootId, parentId, live, roots }: RunQuery): Iterable<RunRecord> {
  if (parentId !== undefined) return memory.children.get(parentId) ?? [];
  if (rootId !== undefined) return memory.trees.get(rootId)?.runs ?? [];
  if (live === true) return memory.liveRuns;
  return roots === true ? (memory.children.get(null) ?? []) : memory.runs.values();
}

function matches(row: RunRow, { rootId, parentId, live, prefix, roots }: RunQuery): boolean {
  if (rootId !== undefined && row.rootId !== rootId) return false;
  if (parentId !== undefined && row.parentId !== parentId) return false;
  if (roots === true && row.parentId !== null) return false;
  if (live !== undefined && isLive(row.status) !== live) return false;
  return prefix === undefined || row.runId.startsWith(prefix);
}

/** Binary search: positions grow with the index. */
function findFirstAfter(facts: FactRecord[], position: number): number {
  let low = 0;
  let high = facts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((facts[middle] as FactRecord).position <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function parsePosition(text: string): number {
  const position = Number(text);
  if (text === '' || !Number.isSafeInteger(position)) throw new RetinueError('usage', `"${text}" is not a position of this store.`);
  return position;
}
