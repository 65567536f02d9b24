// Exports a tree as a header and lines: first the texts that facts refer to, then all facts in the order of the store.
import { RetinueError } from '../contract/error.ts';
import { type ExportBlob, type ExportFact, type ExportHeader, exportVersion } from '../contract/export.ts';
import type { StoredFact } from '../contract/fact.ts';
import type { Store } from '../ports/store.ts';
import { listBlobHashes } from './blob-hashes.ts';
import { findRun } from './find-run.ts';

export interface TreeExport {
  header: ExportHeader;
  /** Everything after the header, read from the store as it is iterated. */
  lines: AsyncIterable<ExportBlob | ExportFact>;
}

const pageSize = 500;

/**
 * Exports the tree of a run. Rejects with `live_tree` while a living process drives it, unless `live`: then everything recorded so far is
 * exported. Rejects with `erased` for an erased tree.
 */
export async function exportTree(id: string, { live }: { live: boolean }, store: Store): Promise<TreeExport> {
  const { rootId, erasedAt } = await findRun(id, store);
  if (erasedAt !== undefined) throw new RetinueError('erased', `run ${rootId} was erased on ${erasedAt}: there is nothing left to export`);
  const pid = live ? null : await findDriver(rootId, store);
  if (pid !== null)
    throw new RetinueError(
      'live_tree',
      `process ${pid} still drives the tree of run ${rootId}; the option \`live\` exports what is recorded so far`,
      { option: 'live' },
    );
  const header: ExportHeader = { format: 'retinue-export', v: exportVersion, rootId, runs: 0, facts: 0, lastHash: '' };
  const blobs = new Set<string>();
  let last = '';
  for await (const fact of readFacts(rootId, null, store)) {
    header.facts++;
    if (fact.type === 'run.created') header.runs++;
    if (fact.runId === rootId) header.lastHash = fact.hash;
    for (const hash of listBlobHashes(fact)) blobs.add(hash);
    last = fact.position;
  }
  return { header, lines: readLines(rootId, last, blobs, store) };
}

/** The living process that drives a tree; null if there is none. */
async function findDriver(rootId: string, store: Store): Promise<number | null> {
  const rows = await store.runs({ rootId, live: true, limit: 1 });
  const holder = rows.length === 0 ? null : (await store.holders([rootId])).get(rootId);
  return holder?.alive ? holder.pid : null;
}

async function* readLines(rootId: string, last: string, blobs: Set<string>, store: Store): AsyncGenerator<ExportBlob | ExportFact> {
  for (const hash of blobs) {
    const content = await store.blob(hash);
    if (content === null) throw new RetinueError('store_corrupt', `a blob of the tree of run ${rootId} is missing (${hash})`);
    yield typeof content === 'string' ? { blob: hash, text: content } : { blob: hash, base64: Buffer.from(content).toString('base64') };
  }
  for await (const { runId, seq, at, v, type, data, hash } of readFacts(rootId, last, store)) yield { runId, seq, at, v, type, data, hash };
}

/** Facts up to the position `last`, or to the end. Facts recorded meanwhile come after all others, so every beginning is a consistent tree. */
async function* readFacts(rootId: string, last: string | null, store: Store): AsyncGenerator<StoredFact> {
  for (let after: string | undefined; ; ) {
    const facts = await store.facts({ rootId, limit: pageSize, ...(after === undefined ? {} : { after }) });
    for (const fact of facts) {
      yield fact;
      if (fact.position === last) return;
    }
    if (facts.length < pageSize) return;
    after = facts.at(-1)?.position;
  }
}
