// The append path: prepared statements only. Every reason to refuse a unit is found before the unit's first write, so a
// refused unit has nothing to undo and needs no savepoint (which would cost a copy of every page that the unit touches).
import type { DatabaseSync } from 'node:sqlite';
import { isLive, type RunRow } from '../../contract/run.ts';
import type { AppendResult, Owner, TreeAppend } from '../../ports/store.ts';

/** A run as a unit meets it: its number (null: not there yet), its last fact's (0: none yet) and its new row. */
interface Place {
  n: number | null;
  /** There were facts of it before, but no row yet. */
  bare: boolean;
  last: number;
  row: RunRow | null;
}

const keptHashes = 1_000;
/** To call SQLite costs about as much as to insert a small fact. */
const factsAtOnce = 16;

export interface Appender {
  /** To be called inside a transaction. */
  apply(owner: Owner, units: TreeAppend[]): AppendResult[];
  /** To be called after its commit: the blobs of these units need not be written again. */
  committed(units: TreeAppend[], results: AppendResult[]): void;
}

export function createAppender(db: DatabaseSync): Appender {
  const ownerOf = db.prepare('SELECT fence FROM owners WHERE id = ?');
  const treeOf = db.prepare('SELECT n, owner FROM trees WHERE root = ?');
  const addTree = db.prepare('INSERT INTO trees (root, owner) VALUES (?, ?)');
  const runOf = db.prepare('SELECT n, tree, seq, row IS NULL AS bare FROM runs WHERE id = ?');
  const holderOf = db.prepare("SELECT id FROM runs WHERE coalesce(parent, '') = ? AND key = ?");
  const addRun = db.prepare('INSERT INTO runs (id, tree, parent, live, key, seq, row) VALUES (?, ?, ?, ?, ?, ?, ?)');
  const setRun = db.prepare('UPDATE runs SET live = ?, seq = ?, row = ? WHERE n = ?');
  const nameRun = db.prepare('UPDATE runs SET parent = ?, key = ? WHERE n = ?');
  const setSeq = db.prepare('UPDATE runs SET seq = ? WHERE n = ?');
  const addFacts = (count: number) =>
    db.prepare(
      `INSERT INTO facts (run, seq, tree, at, v, type, data, hash) VALUES ${Array(count).fill('(?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
    );
  const addOne = addFacts(1);
  const addSome = addFacts(factsAtOnce);
  const addBlob = db.prepare('INSERT INTO blobs (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const pin = db.prepare('INSERT INTO pins (hash, tree) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const consume = db.prepare('DELETE FROM orders WHERE id = ? AND root = ?');
  // Trees with hashes of blobs that they have for certain: a tree that is appended to has not ended, and only ended ones are erased.
  const known = new Set<string>();

  function apply(owner: Owner, units: TreeAppend[]): AppendResult[] {
    const fence = ownerOf.get(owner.id)?.fence;
    if (fence !== owner.fence) return units.map(() => ({ ok: false, reason: 'fenced' }));
    return units.map((unit) => applyUnit(owner, unit));
  }

  function applyUnit(owner: Owner, unit: TreeAppend): AppendResult {
    const tree = treeOf.get(unit.rootId) as { n: number; owner: string | null } | undefined;
    if (tree !== undefined && tree.owner !== owner.id) return { ok: false, reason: 'fenced' };
    const places = placesOf(unit, tree?.n ?? null);
    if (typeof places === 'string') return { ok: false, reason: places };
    write(unit, places, tree?.n ?? Number(addTree.run(unit.rootId, owner.id).lastInsertRowid));
    return { ok: true };
  }

  function placesOf(unit: TreeAppend, tree: number | null): Map<string, Place> | 'fenced' | 'conflict' {
    const places = new Map<string, Place>();
    const keys = new Map<string, string>();
    for (const { runId, seq } of unit.facts) {
      const place = places.get(runId) ?? find(runId, tree);
      if (place === null) return 'fenced';
      if (seq !== place.last + 1) return 'conflict';
      place.last = seq;
      places.set(runId, place);
    }
    for (const row of unit.rows) {
      const place = places.get(row.runId) ?? find(row.runId, tree);
      if (place === null) return 'fenced';
      if (row.idempotencyKey !== null && isKeyTaken(row, row.idempotencyKey, keys)) return 'conflict';
      place.row = row;
      places.set(row.runId, place);
    }
    return places;
  }

  /** Null for a run that belongs to another tree. */
  function find(runId: string, tree: number | null): Place | null {
    const found = runOf.get(runId) as { n: number; tree: number; seq: number; bare: number } | undefined;
    if (found === undefined) return { n: null, bare: true, last: 0, row: null };
    return found.tree === tree ? { n: found.n, bare: found.bare === 1, last: found.seq, row: null } : null;
  }

  function isKeyTaken(row: RunRow, key: string, inUnit: Map<string, string>): boolean {
    const holder = holderOf.get(row.parentId ?? '', key)?.id;
    if (holder !== undefined) return holder !== row.runId;
    const name = JSON.stringify([row.parentId, key]);
    const other = inUnit.get(name);
    inUnit.set(name, row.runId);
    return other !== undefined && other !== row.runId;
  }

  function write(unit: TreeAppend, places: Map<string, Place>, tree: number): void {
    for (const [runId, place] of places) {
      const { n, last, row } = place;
      const parent = row?.parentId ?? null;
      const key = row?.idempotencyKey ?? null;
      const live = row !== null && isLive(row.status) ? 1 : 0;
      const text = row === null ? null : JSON.stringify(row);
      if (n === null) place.n = Number(addRun.run(runId, tree, parent, live, key, last, text).lastInsertRowid);
      else if (text === null) setSeq.run(last, n);
      else {
        setRun.run(live, last, text, n);
        if (place.bare) nameRun.run(parent, key, n);
      }
    }
    const values = unit.facts.map((fact) => {
      const run = (places.get(fact.runId) as Place).n;
      return [run, fact.seq, tree, fact.at, fact.v, fact.type, fact.text, fact.hash];
    });
    let done = 0;
    for (; done + factsAtOnce <= values.length; done += factsAtOnce) addSome.run(...values.slice(done, done + factsAtOnce).flat());
    for (const each of values.slice(done)) addOne.run(...each);
    for (const { hash, text } of unit.blobs) {
      if (known.has(`${unit.rootId} ${hash}`)) continue;
      addBlob.run(hash, text);
      pin.run(hash, tree);
    }
    for (const id of unit.consumed) consume.run(id, unit.rootId);
  }

  function committed(units: TreeAppend[], results: AppendResult[]): void {
    for (const [index, unit] of units.entries()) {
      if (results[index]?.ok !== true) continue;
      for (const { hash } of unit.blobs) remember(`${unit.rootId} ${hash}`);
    }
  }

  /** Sets keep the order of insertion: the first one is the longest unused. */
  function remember(name: string): void {
    known.delete(name);
    known.add(name);
    if (known.size > keptHashes) known.delete(known.values().next().value as string);
  }

  return { apply, committed };
}
