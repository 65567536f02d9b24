// Tags of runs: proof that the last fact of a run, and with it the whole hash chain, was written by a process that has the user's key. The tag also
// covers the ids of the orders that were consumed with the run's facts, so that removing them from the table is noticed.
//
// 1. A tag is signed only over a hash that this process has computed, or over a state whose current tag is authentic. `adopt` is the exception.
// 2. Consumed orders are read from the table only when a tree is claimed. While this process owns it, its own memory counts.
import type { DatabaseSync } from 'node:sqlite';
import type { OrderAuthenticator } from '../../ports/store.ts';
import {
  addConsumed,
  areHeadsAuthentic,
  type ConsumedIds,
  type ConsumedRow,
  createChangedError,
  groupByRun,
  isHeadAuthentic,
  type StoredHead,
  signHead,
} from '../run-heads.ts';
import { selectHash } from './fact-columns.ts';

export interface RunTags {
  /** The tag of a run whose last fact this process has made. Null without a usable key. */
  sign(run: { runId: string; seq: number; hash: string }): string | null;
  /** Records consumed orders under a run; its tag must be signed afterwards. Must be called inside a transaction. */
  consume(tree: number, runId: string, ids: string[]): void;
  /** Records orders that no fact consumes under the root run. Must be called inside a transaction. */
  consumeAtRoot(tree: number, rootId: string, ids: string[]): void;
  /** Throws `store_corrupt` if somebody else changed a run of the tree; with `adopt`, signs it instead. Must be called inside a transaction. */
  claimTree(rootId: string): void;
  /** The orders that a claimed tree had consumed by then. */
  listConsumed(rootId: string): string[];
  isAuthentic(rootId: string): boolean;
  /** Signs all runs of a tree as they are stored. */
  signTree(rootId: string): void;
  /** The last fact of a run; null if it has none. Throws `store_corrupt` if somebody else changed it. */
  readHead(runId: string): { seq: number; hash: string } | null;
}

/** Runs with their real last facts, whatever the rows say. */
const selectHeads = `
  SELECT runs.id, trees.root, runs.seq AS storedSeq, runs.tag, coalesce(last.seq, 0) AS seq,
    coalesce(${selectHash('last.hash')}, '') AS hash
  FROM runs JOIN trees ON trees.n = runs.tree
  LEFT JOIN facts AS last ON last.run = runs.n AND last.seq = (SELECT max(seq) FROM facts WHERE run = runs.n)`;
const updateHeadSql = 'UPDATE runs SET seq = ?, tag = ? WHERE id = ?';
const selectConsumed = 'SELECT consumed.run AS runId, consumed.id FROM consumed';

export function createRunTags(db: DatabaseSync, authenticator: OrderAuthenticator | undefined, { adopt = false } = {}): RunTags {
  const selectTreeHeads = db.prepare(`${selectHeads} WHERE trees.root = ?`);
  const selectRunHead = db.prepare(`${selectHeads} WHERE runs.id = ?`);
  const selectTreeConsumed = db.prepare(`${selectConsumed} JOIN trees ON trees.n = consumed.tree WHERE trees.root = ?`);
  const insertConsumed = db.prepare('INSERT INTO consumed (tree, run, id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const updateTag = db.prepare('UPDATE runs SET tag = ? WHERE id = ?');
  const updateHead = db.prepare(updateHeadSql);
  /** Of the trees that this process owns. */
  const known: ConsumedIds = new Map();
  const claimed = new Map<string, string[]>();

  function readConsumed(rootId: string): ConsumedIds {
    return groupByRun(selectTreeConsumed.all(rootId) as unknown as ConsumedRow[]);
  }

  function readHeads(rootId: string): StoredHead[] {
    return selectTreeHeads.all(rootId) as unknown as StoredHead[];
  }

  const areAuthentic = (heads: StoredHead[], consumed: ConsumedIds) => areHeadsAuthentic(heads, consumed, authenticator);
  const sign: RunTags['sign'] = (run) => signHead(run, known, authenticator);

  function consume(tree: number, runId: string, ids: string[]): void {
    for (const id of ids) {
      // An order that several runs of the tree carry out, such as a pause, is recorded under the first of them.
      if (insertConsumed.run(tree, runId, id).changes > 0) addConsumed(known, { runId, id });
    }
  }

  return {
    sign,
    consume,
    consumeAtRoot(tree, rootId, ids) {
      const head = selectRunHead.get(rootId) as unknown as StoredHead | undefined;
      const wasAuthentic = head !== undefined && areAuthentic([head], known);
      consume(tree, rootId, ids);
      if (wasAuthentic) updateTag.run(sign({ runId: rootId, seq: head.seq, hash: head.hash }), rootId);
    },
    claimTree(rootId) {
      const [heads, consumed] = [readHeads(rootId), readConsumed(rootId)];
      if (!areAuthentic(heads, consumed)) {
        if (!adopt) throw createChangedError(rootId);
        signHeads(heads, consumed);
      }
      for (const { id } of heads) known.delete(id);
      for (const [runId, ids] of consumed) known.set(runId, ids);
      claimed.set(
        rootId,
        [...consumed.values()].flatMap((ids) => [...ids]),
      );
    },
    listConsumed: (rootId) => claimed.get(rootId) ?? [],
    isAuthentic: (rootId) => areAuthentic(readHeads(rootId), readConsumed(rootId)),
    signTree: (rootId) => signHeads(readHeads(rootId), readConsumed(rootId)),
    readHead(runId) {
      const head = selectRunHead.get(runId) as unknown as StoredHead | undefined;
      if (head === undefined || head.seq === 0) return null;
      if (!adopt && !areAuthentic([head], readConsumed(head.root))) throw createChangedError(head.root);
      return { seq: head.seq, hash: head.hash };
    },
  };

  function signHeads(heads: StoredHead[], consumed: ConsumedIds): void {
    if (authenticator === undefined) return;
    for (const { id, seq, hash } of heads) updateHead.run(seq, signHead({ runId: id, seq, hash }, consumed, authenticator), id);
  }
}

/** Signs all runs of the database as they are stored, or only trees that have not ended. */
export function signStoredRuns(db: DatabaseSync, authenticator: OrderAuthenticator, which: 'all' | 'unfinished'): void {
  const consumed = groupByRun(db.prepare(selectConsumed).all() as unknown as ConsumedRow[]);
  const updateHead = db.prepare(updateHeadSql);
  const filter = which === 'all' ? '' : 'WHERE runs.tree IN (SELECT tree FROM runs WHERE live = 1)';
  for (const head of db.prepare(`${selectHeads} ${filter}`).all() as unknown as StoredHead[]) {
    if (isHeadAuthentic(head, consumed, authenticator)) continue;
    const { id, seq, hash } = head;
    updateHead.run(seq, signHead({ runId: id, seq, hash }, consumed, authenticator), id);
  }
}

/** The runs whose tags do not match, at most `limit`. */
export function findChangedRuns(db: DatabaseSync, authenticator: OrderAuthenticator, limit: number): string[] {
  const consumed = groupByRun(db.prepare(selectConsumed).all() as unknown as ConsumedRow[]);
  const changed: string[] = [];
  for (const row of db.prepare(selectHeads).iterate()) {
    const head = row as unknown as StoredHead;
    if (!isHeadAuthentic(head, consumed, authenticator)) changed.push(head.id);
    if (changed.length >= limit) break;
  }
  return changed;
}
