// A tree as lines, out of one store and into another.
import { RetinueError } from '../contract/error.ts';
import { type ExportBlob, type ExportFact, type ExportHeader, exportVersion } from '../contract/export.ts';
import type { StoredFact } from '../contract/fact.ts';
import { isLive, type RunRow } from '../contract/run.ts';
import type { Store, TreeAppend } from '../ports/store.ts';
import { blobHashesOf } from './blobs.ts';
import { findRun } from './find-run.ts';
import { createImportReader } from './import-reader.ts';

export interface TreeExport {
  header: ExportHeader;
  /** Everything behind the header, in order. Read once; what is not read is not in memory. */
  lines: AsyncIterable<ExportBlob | ExportFact>;
}

/** `already`: the same facts were here before. */
export interface ImportResult {
  rootId: string;
  runs: number;
  facts: number;
  lastHash: string;
  result: 'imported' | 'already';
  /** Runs of it that have not ended; they can be resumed. */
  unfinished: number;
}

export interface Transfer {
  /**
   * The tree of a run. Rejects with `live_tree` while a living process drives it, unless `live`: then what is durable now; with `erased`
   * where there is nothing left to export.
   */
  export(id: string, options: { live: boolean }): Promise<TreeExport>;
  /**
   * Takes a tree in, all or nothing; nobody drives it then. Rejects with `invalid_import` where a line is wrong, and where a run is here
   * already with other facts. A tree that has not ended carries rights that somebody else wrote, and could be gone on with: it is taken in
   * only where `unfinished` says that this is meant.
   */
  import(lines: AsyncIterable<string>, options?: { unfinished: boolean }): Promise<ImportResult>;
}

const page = 500;

export function createTransfer(store: Store): Transfer {
  /** In the order of the store: whatever is written meanwhile comes behind, so that every beginning is a tree that once was. */
  async function* factsOf(rootId: string, last: string | null): AsyncGenerator<StoredFact> {
    for (let after: string | undefined; ; ) {
      const facts = await store.facts({ rootId, limit: page, ...(after === undefined ? {} : { after }) });
      for (const fact of facts) {
        yield fact;
        if (fact.position === last) return;
      }
      if (facts.length < page) return;
      after = facts.at(-1)?.position;
    }
  }

  async function* linesOf(rootId: string, last: string, blobs: Set<string>): AsyncGenerator<ExportBlob | ExportFact> {
    for (const hash of blobs) {
      const text = await store.blob(hash);
      if (text === null) throw new RetinueError('store_corrupt', `a text that run ${rootId} or one below it points to is gone (${hash})`);
      yield { blob: hash, text };
    }
    for await (const { runId, seq, at, v, type, data, hash } of factsOf(rootId, last)) yield { runId, seq, at, v, type, data, hash };
  }

  async function drivenBy(rootId: string): Promise<number | null> {
    const rows = await store.runs({ rootId, live: true, limit: 1 });
    const holder = rows.length === 0 ? null : (await store.holders([rootId])).get(rootId);
    return holder?.alive ? holder.pid : null;
  }

  /** Whether the tree is here already. Rejects where a run of it is here with other facts. */
  async function isHere({ rootId, rows }: TreeAppend): Promise<boolean> {
    const here = await store.runs({ rootId });
    const others = await Promise.all(rows.map(async (row) => ({ row, found: await store.run(row.runId) })));
    const strange = others.find(({ row, found }) => found !== null && !sameFacts(row, found));
    if (strange) throw conflict(`run ${strange.row.runId} is here already, ${strange.found?.erasedAt ? 'erased' : 'with other facts'}`);
    const missing = others.find(({ found }) => found === null);
    if (missing && here.length > 0) throw conflict(`run ${rootId} is here already, but not its run ${missing.row.runId}`);
    if (here.length > rows.length) throw conflict(`run ${rootId} is here already, with more runs below it`);
    return missing === undefined;
  }

  async function write(unit: TreeAppend): Promise<boolean> {
    const owner = await store.open();
    try {
      const claim = await store.claim(owner, unit.rootId);
      const [result] = claim.ok ? await store.append(owner, [unit]) : [];
      return result?.ok ?? false;
    } finally {
      await store.release(owner);
    }
  }

  return {
    async export(id, { live }) {
      const { rootId, erasedAt } = await findRun(id, store);
      if (erasedAt !== undefined)
        throw new RetinueError('erased', `run ${rootId} was erased on ${erasedAt}: there is nothing left to export`);
      const pid = live ? null : await drivenBy(rootId);
      if (pid !== null)
        throw new RetinueError('live_tree', `process ${pid} still drives the tree of run ${rootId}; --live exports what is there now`);
      const header: ExportHeader = { format: 'retinue-export', v: exportVersion, rootId, runs: 0, facts: 0, lastHash: '' };
      const blobs = new Set<string>();
      let last = '';
      for await (const fact of factsOf(rootId, null)) {
        header.facts++;
        if (fact.type === 'run.created') header.runs++;
        if (fact.runId === rootId) header.lastHash = fact.hash;
        for (const hash of blobHashesOf(fact)) blobs.add(hash);
        last = fact.position;
      }
      return { header, lines: linesOf(rootId, last, blobs) };
    },
    async import(lines, { unfinished: taken = false } = { unfinished: false }) {
      const reader = createImportReader();
      for await (const line of lines) reader.line(line);
      const { header, unit } = reader.end();
      const { rootId, runs, facts, lastHash } = header;
      const unfinished = unit.rows.filter((row) => isLive(row.status)).length;
      const imported = { rootId, runs, facts, lastHash, unfinished };
      if (await isHere(unit)) return { ...imported, result: 'already' };
      if (unfinished > 0 && !taken)
        throw conflict(
          `${unfinished} of its runs have not ended, and whoever resumes them does so with the rights that the file records; --unfinished takes it in all the same`,
        );
      if (await write(unit)) return { ...imported, result: 'imported' };
      // Another process may have been first with the same.
      if (await isHere(unit)) return { ...imported, result: 'already' };
      throw conflict(`another run here has the idempotency key of one of its runs, or another process has taken the tree`);
    },
  };
}

function sameFacts(row: RunRow, found: RunRow): boolean {
  return found.rootId === row.rootId && found.lastSeq === row.lastSeq && found.lastHash === row.lastHash && found.erasedAt === undefined;
}

function conflict(what: string): RetinueError {
  return new RetinueError('invalid_import', `this cannot be imported: ${what}; nothing was written`);
}
