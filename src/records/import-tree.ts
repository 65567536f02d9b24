// Imports an exported tree, all or nothing. Nothing is written before every line was checked (`parse-export.ts`).
import type { RunRow } from '../contract/run.ts';
import { isLive } from '../contract/run-status.ts';
import type { Store, TreeAppend } from '../ports/store.ts';
import { createExportParser, createImportError } from './parse-export.ts';

/** `already`: the store had the same facts before. */
export interface ImportResult {
  rootId: string;
  runs: number;
  facts: number;
  lastHash: string;
  result: 'imported' | 'already';
  /** Runs that have not ended; they can be resumed. */
  unfinished: number;
}

/**
 * Imports a tree; no process drives it afterwards. Rejects with `invalid_import` if a line is invalid, or if the store has one of its runs with
 * other facts. An unfinished tree would be resumed with the rights that the file records, so it is imported only with `unfinished`.
 */
export async function importTree(
  lines: AsyncIterable<string>,
  { unfinished: acceptUnfinished }: { unfinished: boolean },
  store: Store,
): Promise<ImportResult> {
  const parser = createExportParser();
  for await (const line of lines) parser.line(line);
  const { header, unit } = parser.end();
  const { rootId, runs, facts, lastHash } = header;
  const unfinished = unit.rows.filter((row) => isLive(row.status)).length;
  const tree = { rootId, runs, facts, lastHash, unfinished };
  if (await isPresent(unit, store)) return { ...tree, result: 'already' };
  if (unfinished > 0 && !acceptUnfinished)
    throw createImportError(
      `${unfinished} of its runs have not ended, and resuming them would use the rights recorded in the file; if you trust it, set the option \`unfinished\``,
      { option: 'unfinished' },
    );
  if (await appendTree(unit, store)) return { ...tree, result: 'imported' };
  // Another process may have imported the same tree meanwhile.
  if (await isPresent(unit, store)) return { ...tree, result: 'already' };
  throw createImportError('another run here has the idempotency key of one of its runs, or another process has taken the tree');
}

/** Whether the store already has the tree. Rejects if it has one of its runs with other facts. */
async function isPresent({ rootId, rows }: TreeAppend, store: Store): Promise<boolean> {
  const present = await store.runs({ rootId });
  const pairs = await Promise.all(rows.map(async (row) => ({ row, stored: await store.run(row.runId) })));
  const different = pairs.find(({ row, stored }) => stored !== null && !hasSameFacts(row, stored));
  if (different)
    throw createImportError(`run ${different.row.runId} is here already, ${different.stored?.erasedAt ? 'erased' : 'with other events'}`);
  const missing = pairs.find(({ stored }) => stored === null);
  if (missing && present.length > 0) throw createImportError(`run ${rootId} is here already, but without its run ${missing.row.runId}`);
  if (present.length > rows.length) throw createImportError(`run ${rootId} is here already, with more runs below it`);
  return missing === undefined;
}

function hasSameFacts(row: RunRow, stored: RunRow): boolean {
  return (
    stored.rootId === row.rootId && stored.lastSeq === row.lastSeq && stored.lastHash === row.lastHash && stored.erasedAt === undefined
  );
}

/** False if the store refused it. */
async function appendTree(unit: TreeAppend, store: Store): Promise<boolean> {
  const owner = await store.open();
  try {
    const claim = await store.claim(owner, unit.rootId);
    const [result] = claim.ok ? await store.append(owner, [unit]) : [];
    return result?.ok ?? false;
  } finally {
    await store.release(owner);
  }
}
