// Erases the data of trees permanently. Freed space is overwritten (`secure_delete`; connect.ts sets it for freed space inside pages), and the
// write-ahead log, which still contains the old pages, is emptied as soon as no connection reads from it.
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { RunRow } from '../../contract/run.ts';
import type { EraseResult } from '../../ports/store.ts';
import { isBusy, isDiskFull } from './errors.ts';
import type { Timing } from './options.ts';
import { retryWhileBusy } from './retry.ts';
import type { Tables } from './tables.ts';
import type { Writer } from './writer.ts';

export interface Eraser {
  erase(rootId: string, at: string): Promise<EraseResult>;
  weigh(rootIds: string[]): { facts: number; bytes: number };
  reclaim(erased: number): Promise<void>;
}

/** Pages to free in one transaction. Others can write in between. */
const pagesPerTransaction = 1_000;
const incrementalVacuum = 2;
/** Rewrite the file if this part of it is still occupied by erased content: erasing small facts leaves pages half empty. */
const rewriteShare = 0.05;

/** The trees whose roots are in the JSON array of the first parameter. */
const selectedTrees = 'SELECT n FROM trees WHERE root IN (SELECT value FROM json_each(?1))';
/** The blobs of the selected trees that no other tree uses. */
const isUnsharedBlob = `hash IN (SELECT hash FROM pins WHERE tree IN (${selectedTrees}))
  AND NOT EXISTS (SELECT 1 FROM pins WHERE pins.hash = blobs.hash AND tree NOT IN (${selectedTrees}))`;

/** What erasing all these trees would remove. */
export function createWeigher(db: DatabaseSync): (rootIds: string[]) => { facts: number; bytes: number } {
  const measureFacts = db.prepare(
    `SELECT count(*) AS facts, coalesce(sum(octet_length(data)), 0) AS bytes FROM facts WHERE tree IN (${selectedTrees}) AND data <> ''`,
  );
  const measureBlobs = db.prepare(`SELECT coalesce(sum(octet_length(text)), 0) AS bytes FROM blobs WHERE ${isUnsharedBlob}`);
  return (rootIds) => {
    const roots = JSON.stringify(rootIds);
    const { facts, bytes } = measureFacts.get(roots) as { facts: number; bytes: number };
    return { facts, bytes: bytes + Number(measureBlobs.get(roots)?.bytes) };
  };
}

export function createEraser(
  db: DatabaseSync,
  writer: Writer,
  options: { path: string; isHeld(owner: Tables['owners']): boolean; timing: Timing },
): Eraser {
  const selectRuns = db.prepare(`SELECT n, live, row FROM runs WHERE tree IN (${selectedTrees})`);
  const weigh = createWeigher(db);
  const clearFacts = db.prepare(`UPDATE facts SET data = '' WHERE tree IN (${selectedTrees}) AND data <> ''`);
  const updateRow = db.prepare('UPDATE runs SET key = NULL, row = ? WHERE n = ?');
  const deleteBlobs = db.prepare(`DELETE FROM blobs WHERE ${isUnsharedBlob}`);
  const deletePins = db.prepare(`DELETE FROM pins WHERE tree IN (${selectedTrees})`);
  const deleteOrders = db.prepare('DELETE FROM orders WHERE root = ?');
  const deleteConsumed = db.prepare(`DELETE FROM consumed WHERE tree IN (${selectedTrees})`);
  const selectOwners = db.prepare('SELECT * FROM owners');

  function eraseInTransaction(rootId: string, at: string): EraseResult {
    const roots = JSON.stringify([rootId]);
    const runs = selectRuns.all(roots) as { n: number; live: number; row: string | null }[];
    if (runs.length === 0) return { ok: false, reason: 'unknown' };
    if (runs.some(({ live }) => live === 1)) return { ok: false, reason: 'live' };
    const weight = weigh([rootId]);
    db.exec('PRAGMA secure_delete = ON');
    clearFacts.run(roots);
    for (const { n, row } of runs) {
      if (row === null) continue;
      const { erasedAt = at, ...kept } = JSON.parse(row) as RunRow;
      updateRow.run(JSON.stringify({ ...kept, activity: null, idempotencyKey: null, label: null, erasedAt }), n);
    }
    deleteBlobs.run(roots);
    deletePins.run(roots);
    deleteOrders.run(rootId);
    deleteConsumed.run(roots);
    return { ok: true, ...weight };
  }

  /**
   * Returns whole free pages in small steps. Space inside pages comes back only if the file is rewritten, and so does all space of a database
   * without incremental vacuum. That is done only while no process drives runs, because it would block them.
   */
  async function reclaim(erased: number): Promise<void> {
    const before = getFileBytes();
    const isIncremental = readNumber('auto_vacuum') === incrementalVacuum;
    if (isIncremental) await returnFreePages();
    const remaining = erased - (before - getFileBytes());
    const isDriven = (selectOwners.all() as unknown as Tables['owners'][]).some(options.isHeld);
    if (!isDriven && (!isIncremental || remaining > rewriteShare * getFileBytes())) await rewriteFile();
    emptyLog();
  }

  function readNumber(pragma: string): number {
    return Number(db.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
  }

  function getFileBytes(): number {
    return readNumber('page_count') * readNumber('page_size');
  }

  async function returnFreePages(): Promise<void> {
    // Stops when a round frees nothing.
    for (
      let [left, before] = [readNumber('freelist_count'), Number.POSITIVE_INFINITY];
      left > 0 && left < before;
      [before, left] = [left, readNumber('freelist_count')]
    ) {
      await writer.write(() => db.exec(`PRAGMA incremental_vacuum(${pagesPerTransaction})`));
      await yieldToEventLoop();
    }
  }

  /** The rewritten file needs as much space again for a moment. Without it the free space stays in the file, for later runs. */
  async function rewriteFile(): Promise<void> {
    // The log is emptied first, so that both do not need space at the same time.
    emptyLog();
    try {
      await retryWhileBusy(() => db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM'), options.timing.giveUp);
    } catch (error) {
      if (!isDiskFull(error, options.path) && !isBusy(error)) throw error;
    }
  }

  /** Does nothing while another connection reads from the log. It is emptied when that is done. */
  function emptyLog(): void {
    try {
      db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
  }

  return {
    weigh,
    erase: (rootId, at) => writer.write(() => eraseInTransaction(rootId, at)),
    reclaim,
  };
}
