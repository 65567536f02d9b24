// Taking what runs said away for good. What is freed is overwritten (`secure_delete`; inside of pages by every writer, see connect.ts), and
// the log that still has the old pages is emptied as soon as nobody reads from it.
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { RunRow } from '../../contract/run.ts';
import type { EraseResult } from '../../ports/store.ts';
import { isBusy } from './errors.ts';
import type { Timing } from './options.ts';
import { patiently } from './retry.ts';
import type { Tables } from './tables.ts';
import type { Writer } from './writer.ts';

export interface Eraser {
  erase(rootId: string, at: string): Promise<EraseResult>;
  weigh(rootIds: string[]): { facts: number; bytes: number };
  reclaim(): Promise<void>;
}

/** Freed in one transaction; others write in between. */
const pagesPerTurn = 1_000;
const incremental = 2;

const chosen = 'SELECT n FROM trees WHERE root IN (SELECT value FROM json_each(?1))';
const loose = `hash IN (SELECT hash FROM pins WHERE tree IN (${chosen}))
  AND NOT EXISTS (SELECT 1 FROM pins WHERE pins.hash = blobs.hash AND tree NOT IN (${chosen}))`;

export function createEraser(
  db: DatabaseSync,
  writer: Writer,
  options: { isHeld(owner: Tables['owners']): boolean; timing: Timing },
): Eraser {
  const runsOf = db.prepare(`SELECT n, live, row FROM runs WHERE tree IN (${chosen})`);
  const factsWeight = db.prepare(
    `SELECT count(*) AS facts, coalesce(sum(octet_length(data)), 0) AS bytes FROM facts WHERE tree IN (${chosen}) AND data <> ''`,
  );
  const blobsWeight = db.prepare(`SELECT coalesce(sum(octet_length(text)), 0) AS bytes FROM blobs WHERE ${loose}`);
  const emptyFacts = db.prepare(`UPDATE facts SET data = '' WHERE tree IN (${chosen}) AND data <> ''`);
  const setRow = db.prepare('UPDATE runs SET key = NULL, row = ? WHERE n = ?');
  const dropBlobs = db.prepare(`DELETE FROM blobs WHERE ${loose}`);
  const dropPins = db.prepare(`DELETE FROM pins WHERE tree IN (${chosen})`);
  const dropOrders = db.prepare('DELETE FROM orders WHERE root = ?');
  const owners = db.prepare('SELECT * FROM owners');

  function weigh(rootIds: string[]): { facts: number; bytes: number } {
    const roots = JSON.stringify(rootIds);
    const { facts, bytes } = factsWeight.get(roots) as { facts: number; bytes: number };
    return { facts, bytes: bytes + Number(blobsWeight.get(roots)?.bytes) };
  }

  function eraseNow(rootId: string, at: string): EraseResult {
    const roots = JSON.stringify([rootId]);
    const runs = runsOf.all(roots) as { n: number; live: number; row: string | null }[];
    if (runs.length === 0) return { ok: false, reason: 'unknown' };
    if (runs.some(({ live }) => live === 1)) return { ok: false, reason: 'live' };
    const weight = weigh([rootId]);
    db.exec('PRAGMA secure_delete = ON');
    emptyFacts.run(roots);
    for (const { n, row } of runs) {
      if (row === null) continue;
      const { erasedAt = at, ...kept } = JSON.parse(row) as RunRow;
      setRow.run(JSON.stringify({ ...kept, activity: null, idempotencyKey: null, label: null, erasedAt }), n);
    }
    dropBlobs.run(roots);
    dropPins.run(roots);
    dropOrders.run(rootId);
    return { ok: true, ...weight };
  }

  /** A database made without the means to free pages singly is written anew, but only while nobody drives runs who would have to wait. */
  async function reclaim(): Promise<void> {
    if (db.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum === incremental) {
      const free = () => Number(db.prepare('PRAGMA freelist_count').get()?.freelist_count);
      for (let [left, before] = [free(), Number.POSITIVE_INFINITY]; left > 0 && left < before; [before, left] = [left, free()]) {
        await writer.write(() => db.exec(`PRAGMA incremental_vacuum(${pagesPerTurn})`));
        await turn();
      }
    } else if (!(owners.all() as unknown as Tables['owners'][]).some(options.isHeld)) {
      await patiently(() => db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM'), options.timing.giveUp);
    }
    try {
      db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    } catch (error) {
      // Somebody reads from the log: it is emptied when they are done.
      if (!isBusy(error)) throw error;
    }
  }

  return {
    weigh,
    erase: (rootId, at) => writer.write(() => eraseNow(rootId, at)),
    reclaim,
  };
}
