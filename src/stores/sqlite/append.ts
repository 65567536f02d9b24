// Appends units with prepared statements. Every reason to refuse a unit is found before its first write, so a refused unit has nothing to undo
// and needs no savepoint (which would copy every page that the unit touches).
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { RunRow } from '../../contract/run.ts';
import { isLive } from '../../contract/run-status.ts';
import type { AppendResult, Owner, TreeAppend, WrittenFact } from '../../ports/store.ts';
import { endsTree } from '../tree-end.ts';
import { createInstantEncoder, encodeHash } from './fact-columns.ts';
import { createDifferenceEncoder } from './fact-differences.ts';
import type { RunTags } from './run-tags.ts';

interface RunState {
  /** The run's key in the database; null if it is not stored yet. */
  n: number | null;
  /** What the row says so far; null if it is not stored yet. */
  live: number | null;
  /** Stored without a row so far. */
  hasNoRow: boolean;
  /** The number of its last fact; 0 if it has none. */
  lastSeq: number;
  /** The hash of the last fact in the unit; null if it has none of this run. */
  lastHash: string | null;
  /** The row that the unit writes. */
  row: RunRow | null;
}

/** A live run as this process has stored it. */
interface KnownRun {
  n: number;
  tree: number;
  lastSeq: number;
}

const maxKnownRuns = 10_000;
const maxKnownBlobs = 1_000;
/** A call of SQLite costs about as much as inserting a small fact. */
const factsPerInsert = 16;

export interface Appender {
  /** Must be called inside a transaction. */
  apply(owner: Owner, units: TreeAppend[]): AppendResult[];
  /** Must be called after the commit. What these units stored is not written or read again. */
  rememberCommitted(units: TreeAppend[], results: AppendResult[]): void;
  /** Must be called when runs were changed over this connection by something else. */
  forgetRuns(): void;
}

export function createAppender(db: DatabaseSync, tags: RunTags): Appender {
  // Changes with every commit of another connection, and then nothing that is known about runs counts.
  const selectVersion = db.prepare('PRAGMA data_version');
  const selectOwner = db.prepare('SELECT 1 FROM owners WHERE id = ?');
  const selectTree = db.prepare('SELECT n, owner FROM trees WHERE root = ?');
  const insertTree = db.prepare('INSERT INTO trees (root, owner) VALUES (?, ?)');
  const selectRun = db.prepare('SELECT n, tree, live, seq, row IS NULL AS hasNoRow FROM runs WHERE id = ?');
  const selectRunByKey = db.prepare("SELECT id FROM runs WHERE coalesce(parent, '') = ? AND key = ?");
  const insertRun = db.prepare('INSERT INTO runs (id, tree, parent, live, key, seq, row, tag) VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  const updateRun = db.prepare('UPDATE runs SET seq = ?, row = ?, tag = coalesce(?, tag) WHERE n = ?');
  // Only if it changes: SQLite would write the page of its index each time.
  const updateLive = db.prepare('UPDATE runs SET live = ? WHERE n = ?');
  const updateParentAndKey = db.prepare('UPDATE runs SET parent = ?, key = ? WHERE n = ?');
  const updateSeq = db.prepare('UPDATE runs SET seq = ?, tag = coalesce(?, tag) WHERE n = ?');
  const prepareInsert = (count: number) =>
    db.prepare(
      `INSERT INTO facts (position, run, seq, tree, at, v, type, base, data, hash)
        VALUES ${Array(count).fill('(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
    );
  const selectLast = db.prepare('SELECT coalesce(max(position), 0) AS position FROM facts');
  const insertFact = prepareInsert(1);
  const insertFacts = prepareInsert(factsPerInsert);
  const insertBlob = db.prepare('INSERT INTO blobs (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const insertPin = db.prepare('INSERT INTO pins (hash, tree) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const deleteOrder = db.prepare('DELETE FROM orders WHERE id = ? AND root = ?');
  const deleteOrders = db.prepare('DELETE FROM orders WHERE root = ?');
  // Pairs of tree and blob that are certainly stored: a tree that is appended to has not ended, and only ended trees are erased.
  const knownBlobs = new Set<string>();
  const knownRuns = new Map<string, KnownRun>();
  /** Of the transaction; they become known with its commit. */
  let written: [string, KnownRun | null][] = [];
  let version: unknown;
  const differences = createDifferenceEncoder();
  const encodeInstant = createInstantEncoder();
  /** The position of the last fact in the transaction. */
  let last = 0;

  function apply(owner: Owner, units: TreeAppend[]): AppendResult[] {
    if (selectOwner.get(owner.id) === undefined) return units.map(() => ({ ok: false, reason: 'fenced' }));
    const found = selectVersion.get()?.data_version;
    if (found !== version) knownRuns.clear();
    version = found;
    written = [];
    differences.begin();
    last = (selectLast.get() as { position: number }).position;
    return units.map((unit) => applyUnit(owner, unit));
  }

  function applyUnit(owner: Owner, unit: TreeAppend): AppendResult {
    const tree = selectTree.get(unit.rootId) as { n: number; owner: string | null } | undefined;
    if (tree !== undefined && tree.owner !== owner.id) return { ok: false, reason: 'fenced' };
    const states = readStates(unit, tree?.n ?? null);
    if (typeof states === 'string') return { ok: false, reason: states };
    write(unit, states, tree?.n ?? Number(insertTree.run(unit.rootId, owner.id).lastInsertRowid));
    return { ok: true };
  }

  /** The state of each run of the unit, or the reason to refuse the unit. */
  function readStates(unit: TreeAppend, tree: number | null): Map<string, RunState> | 'fenced' | 'conflict' {
    const states = new Map<string, RunState>();
    const keys = new Map<string, string>();
    for (const { runId, seq, hash } of unit.facts) {
      const state = states.get(runId) ?? readState(runId, tree);
      if (state === null) return 'fenced';
      if (seq !== state.lastSeq + 1) return 'conflict';
      state.lastSeq = seq;
      state.lastHash = hash;
      states.set(runId, state);
    }
    for (const row of unit.rows) {
      const state = states.get(row.runId) ?? readState(row.runId, tree);
      if (state === null) return 'fenced';
      if (row.idempotencyKey !== null && isKeyTaken(row, row.idempotencyKey, keys)) return 'conflict';
      state.row = row;
      states.set(row.runId, state);
    }
    return states;
  }

  /** Null for a run of another tree. */
  function readState(runId: string, tree: number | null): RunState | null {
    const known = knownRuns.get(runId);
    if (known !== undefined)
      return known.tree === tree ? { n: known.n, live: 1, hasNoRow: false, lastSeq: known.lastSeq, lastHash: null, row: null } : null;
    const found = selectRun.get(runId) as { n: number; tree: number; live: number; seq: number; hasNoRow: number } | undefined;
    if (found === undefined) return { n: null, live: null, hasNoRow: true, lastSeq: 0, lastHash: null, row: null };
    const { n, live, seq } = found;
    return found.tree === tree ? { n, live, hasNoRow: found.hasNoRow === 1, lastSeq: seq, lastHash: null, row: null } : null;
  }

  function isKeyTaken(row: RunRow, key: string, inUnit: Map<string, string>): boolean {
    const holder = selectRunByKey.get(row.parentId ?? '', key)?.id;
    if (holder !== undefined) return holder !== row.runId;
    const name = JSON.stringify([row.parentId, key]);
    const other = inUnit.get(name);
    inUnit.set(name, row.runId);
    return other !== undefined && other !== row.runId;
  }

  function write(unit: TreeAppend, states: Map<string, RunState>, tree: number): void {
    for (const id of unit.consumed) deleteOrder.run(id, unit.rootId);
    if (endsTree(unit)) deleteOrders.run(unit.rootId);
    // Also if somebody has removed an order meanwhile, to insert it again later.
    if (unit.facts[0] !== undefined && unit.consumed.length > 0) tags.consume(tree, unit.facts[0].runId, unit.consumed);
    for (const [runId, state] of states) {
      const { n, lastSeq, lastHash, row } = state;
      const parent = row?.parentId ?? null;
      const key = row?.idempotencyKey ?? null;
      const live = row !== null && isLive(row.status) ? 1 : 0;
      const text = row === null ? null : JSON.stringify(row);
      const tag = lastHash === null && n !== null ? null : tags.sign({ runId, seq: lastSeq, hash: lastHash ?? '' });
      if (n === null) state.n = Number(insertRun.run(runId, tree, parent, live, key, lastSeq, text, tag).lastInsertRowid);
      else if (text === null) updateSeq.run(lastSeq, tag, n);
      else {
        updateRun.run(lastSeq, text, tag, n);
        if (live !== state.live) updateLive.run(live, n);
        if (state.hasNoRow) updateParentAndKey.run(parent, key, n);
      }
      written.push([runId, live === 1 ? { n: state.n as number, tree, lastSeq } : null]);
    }
    writeFacts(unit, states, tree);
    for (const { hash, content } of unit.blobs) {
      if (knownBlobs.has(`${unit.rootId} ${hash}`)) continue;
      insertBlob.run(hash, content);
      insertPin.run(hash, tree);
    }
    if (unit.facts.length === 0 && unit.consumed.length > 0) tags.consumeAtRoot(tree, unit.rootId, unit.consumed);
  }

  function writeFacts({ rootId, facts }: TreeAppend, states: Map<string, RunState>, tree: number): void {
    const grouped = facts.length - (facts.length % factsPerInsert);
    let values: SQLInputValue[] = [];
    for (let i = 0; i < facts.length; i++) {
      const fact = facts[i] as WrittenFact;
      const run = (states.get(fact.runId) as RunState).n;
      const position = ++last;
      const { base, data } = differences.encode(fact, { rootId, position });
      values.push(position, run, fact.seq, tree, encodeInstant(fact.at), fact.v, fact.type, base, data, encodeHash(fact.hash));
      if (i < grouped && (i + 1) % factsPerInsert > 0) continue;
      (i < grouped ? insertFacts : insertFact).run(...values);
      values = [];
    }
  }

  function rememberCommitted(units: TreeAppend[], results: AppendResult[]): void {
    differences.keep();
    if (knownRuns.size > maxKnownRuns) knownRuns.clear();
    for (const [runId, run] of written)
      if (run === null) knownRuns.delete(runId);
      else knownRuns.set(runId, run);
    written = [];
    for (const [index, unit] of units.entries()) {
      if (results[index]?.ok !== true) continue;
      if (endsTree(unit)) differences.forget(unit.rootId);
      for (const { hash } of unit.blobs) remember(`${unit.rootId} ${hash}`);
    }
  }

  /** A set keeps the order of insertion, so its first entry is the least recently used. */
  function remember(name: string): void {
    knownBlobs.delete(name);
    knownBlobs.add(name);
    if (knownBlobs.size > maxKnownBlobs) knownBlobs.delete(knownBlobs.values().next().value as string);
  }

  return { apply, rememberCommitted, forgetRuns: () => knownRuns.clear() };
}
