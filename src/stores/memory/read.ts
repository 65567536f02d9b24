import { setImmediate as turn } from 'node:timers/promises';
import { RetinueError } from '../../contract/error.ts';
import type { ErasedFact, StoredFact } from '../../contract/fact.ts';
import { isLive, type RunRow } from '../../contract/run.ts';
import type { FactQuery, RunQuery } from '../../ports/store.ts';
import { copyRow, type KeptFact, type KeptRun, type Memory } from './data.ts';

/** So much is read in a few milliseconds. Counted, not timed: a simulated world must not depend on how fast the machine is today. */
const sliceCharacters = 500_000;

/** Gives the event loop its turn after every slice. */
export async function readFacts(memory: Memory, { runId, rootId, types, after, limit }: FactQuery): Promise<StoredFact[]> {
  const run = runId === undefined ? undefined : memory.runs.get(runId);
  if (runId !== undefined && (run === undefined || (rootId !== undefined && run.rootId !== rootId))) return [];
  const kept = run?.facts ?? (rootId === undefined ? memory.facts : (memory.trees.get(rootId)?.facts ?? []));
  const wanted = types === undefined ? null : new Set<string>(types);
  const found: StoredFact[] = [];
  let left = sliceCharacters;
  for (let index = after === undefined ? 0 : firstAfter(kept, positionOf(after)); index < kept.length; index++) {
    if (found.length >= (limit ?? Number.POSITIVE_INFINITY)) break;
    const fact = kept[index] as KeptFact;
    if (wanted !== null && !wanted.has(fact.type)) continue;
    if (fact.text === '') continue;
    found.push(toFact(fact) as StoredFact);
    left -= fact.text.length;
    if (left <= 0) {
      await turn();
      left = sliceCharacters;
    }
  }
  return found;
}

export function readTrail(memory: Memory, runId: string): (StoredFact | ErasedFact)[] {
  return (memory.runs.get(runId)?.facts ?? []).map(toFact);
}

function toFact({ text, position, ...head }: KeptFact): StoredFact | ErasedFact {
  if (text === '') return { ...head, erased: true, position: String(position) };
  return { ...head, data: JSON.parse(text), position: String(position) } as StoredFact;
}

/** The narrowest list that holds the answer is searched. */
export function readRuns(memory: Memory, query: RunQuery): RunRow[] {
  const limit = query.limit ?? Number.POSITIVE_INFINITY;
  const sign = query.order === 'oldest' ? 1 : -1;
  const candidates = [...listFor(memory, query)].sort((a, b) => sign * (a.n - b.n));
  const found: RunRow[] = [];
  for (const { row } of candidates) {
    if (found.length >= limit) break;
    if (row !== null && matches(row, query)) found.push(copyRow(row));
  }
  return found;
}

export function rowOf(run: KeptRun | undefined): RunRow | null {
  return run?.row ? copyRow(run.row) : null;
}

function listFor(memory: Memory, { rootId, parentId, live, roots }: RunQuery): Iterable<KeptRun> {
  if (parentId !== undefined) return memory.children.get(parentId) ?? [];
  if (rootId !== undefined) return memory.trees.get(rootId)?.runs ?? [];
  if (live === true) return memory.live;
  return roots === true ? (memory.children.get(null) ?? []) : memory.runs.values();
}

function matches(row: RunRow, { rootId, parentId, live, prefix, roots }: RunQuery): boolean {
  if (rootId !== undefined && row.rootId !== rootId) return false;
  if (parentId !== undefined && row.parentId !== parentId) return false;
  if (roots === true && row.parentId !== null) return false;
  if (live !== undefined && isLive(row.status) !== live) return false;
  return prefix === undefined || row.runId.startsWith(prefix);
}

function firstAfter(facts: KeptFact[], position: number): number {
  let low = 0;
  let high = facts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((facts[middle] as KeptFact).position <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function positionOf(text: string): number {
  const position = Number(text);
  if (text === '' || !Number.isSafeInteger(position)) throw new RetinueError('usage', `"${text}" is no position of this store.`);
  return position;
}
