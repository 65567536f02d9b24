// Parses an export line by line into what a store can append. An export may come from anyone, so everything is checked, and the first invalid line
// is reported by number. Pure: it writes nothing.
//
// I1. Every line has the form of the contract, every fact matches the schema of its type, and every text matches its hash.
// I2. The facts are one complete tree: each run is chained by hash from run.created on, its parent names it, and nothing follows its end.
// I3. The counts and the last hash of the header are exact.
import type { z } from 'zod';
import { type ErrorOption, RetinueError } from '../contract/error.ts';
import { ExportBlob, ExportFact, ExportHeader, exportVersion } from '../contract/export.ts';
import { type Fact, type FactOf, factData } from '../contract/fact.ts';
import { newestFactVersion } from '../contract/fact-version.ts';
import { applyFact } from '../kernel/state/fold.ts';
import { stateToRow } from '../kernel/state/outcome.ts';
import { createRunState, type RunState } from '../kernel/state/state.ts';
import type { BlobContent, TreeAppend } from '../ports/store.ts';
import { canonical, sha256 } from '../text/canonical.ts';
import { listBlobHashes } from './blob-hashes.ts';
import { type ChainFault, createChainCheck } from './chain-check.ts';

/** The whole export is kept in memory until it is written. */
const maxBytes = 512 * 1024 * 1024;

export interface ExportParser {
  /** Throws RetinueError `invalid_import`. */
  line(text: string): void;
  /** What to append. Throws RetinueError `invalid_import` if something is missing. */
  end(): { header: ExportHeader; unit: TreeAppend };
}

export function createExportParser(): ExportParser {
  const chain = createChainCheck();
  const states = new Map<string, RunState>();
  const blobs = new Map<string, BlobContent>();
  /** Hashes that facts refer to. */
  const referenced = new Set<string>();
  const facts: TreeAppend['facts'] = [];
  let header: ExportHeader | null = null;
  let lines = 0;
  let bytes = 0;

  function addLine(text: string): void {
    const value = JSON.parse(text) as unknown;
    if (header === null) header = parseHeader(value);
    else if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'blob')) addBlob(value);
    else addFact(value, header);
  }

  function addBlob(value: unknown): void {
    const parsed = parseWith(ExportBlob, value);
    const { blob } = parsed;
    const content = 'text' in parsed ? parsed.text : Uint8Array.from(Buffer.from(parsed.base64, 'base64'));
    if (facts.length > 0) throw new Error('texts (`blob`) must come before the events');
    if (blobs.has(blob)) throw new Error(`the blob ${blob} occurs twice`);
    if ((typeof content === 'string' && !content.isWellFormed()) || sha256(content) !== blob)
      throw new Error(`the blob ${blob} was changed`);
    blobs.set(blob, content);
  }

  function addFact(value: unknown, { rootId }: ExportHeader): void {
    const { v, type, data } = parseWith(ExportFact, value);
    if (v > newestFactVersion(type)) throw new Error(`a ${type} of version ${v}, written by a newer Retinue; update Retinue to import it`);
    parseWith(factData()[type], data, `${type}: `);
    const fact = value as Fact;
    const text = canonical(fact.data);
    if (!text.isWellFormed()) throw new Error('a string is not valid Unicode');
    const fault = chain.add(fact);
    if (fault) throw faultToError(fault);
    foldFact(fact, rootId);
    for (const hash of listBlobHashes(fact)) referenced.add(hash);
    facts.push({ ...fact, text });
  }

  function foldFact(fact: Fact, rootId: string): void {
    const state = states.get(fact.runId);
    if (state?.phase.name === 'ended') throw new Error(`an event of run ${fact.runId} follows its end`);
    if ((fact.type === 'run.created') !== (state === undefined)) throw new Error(`run ${fact.runId} does not begin with run.created`);
    if (state) applyFact(state, fact);
    else states.set(fact.runId, createState(fact as FactOf<'run.created'>, rootId));
  }

  function createState(fact: FactOf<'run.created'>, rootId: string): RunState {
    const { parentId, depth, rootId: ownRootId } = fact.data;
    const parent = parentId === null ? undefined : states.get(parentId);
    const isRoot = fact.runId === rootId;
    const isInTree = isRoot ? parentId === null && depth === 0 : parent !== undefined && depth === parent.created.data.depth + 1;
    if (ownRootId !== rootId || !isInTree) throw new Error(`run ${fact.runId} is not part of the tree of run ${rootId}`);
    return createRunState(fact);
  }

  /** Checks that are possible only after the last line. */
  function checkWhole({ rootId, runs, facts: count, lastHash }: ExportHeader): void {
    if (facts.length !== count) throw new Error(`the header announces ${count} events, but there are ${facts.length}`);
    if (states.size !== runs) throw new Error(`the header announces ${runs} runs, but there are ${states.size}`);
    if (states.get(rootId)?.hash !== lastHash) throw new Error('the last hash of the header is not that of the root');
    const [fault] = chain.faults();
    if (fault) throw faultToError(fault);
    for (const { runId, created } of states.values()) {
      const { parentId } = created.data;
      if (parentId !== null && !states.get(parentId)?.children.has(runId)) throw new Error(`run ${runId} is not named by its parent`);
    }
    for (const { runId, children } of states.values()) {
      for (const { id } of children.values())
        if (states.get(id)?.created.data.parentId !== runId) throw new Error(`run ${runId} names run ${id}, which is not its child`);
    }
    for (const hash of referenced) if (!blobs.has(hash)) throw new Error(`the text ${hash}, which events refer to, is missing`);
    for (const hash of blobs.keys()) if (!referenced.has(hash)) throw new Error(`no event refers to the text ${hash}`);
  }

  return {
    line(text) {
      lines++;
      bytes += text.length;
      if (bytes > maxBytes) throw createImportError(`it is larger than ${maxBytes / 1024 / 1024} MiB`);
      try {
        addLine(text);
      } catch (error) {
        throw createImportError(`line ${lines}: ${clipMessage(error)}`, { cause: error });
      }
    },
    end() {
      if (header === null) throw createImportError('it is empty');
      try {
        checkWhole(header);
      } catch (error) {
        throw createImportError(clipMessage(error), { cause: error });
      }
      const rows = [...states.values()].map(stateToRow);
      const texts = [...blobs].map(([hash, content]) => ({ hash, content }));
      return { header, unit: { rootId: header.rootId, facts, rows, blobs: texts, consumed: findOrderIds(facts) } };
    },
  };
}

/** So that none of them can be given to the imported tree once more. */
function findOrderIds(facts: Fact[]): string[] {
  return facts.flatMap((fact) =>
    (fact.type === 'message.received' || fact.type === 'approval.answered') && fact.data.order !== undefined ? [fact.data.order] : [],
  );
}

function parseHeader(value: unknown): ExportHeader {
  const { format, v } = (typeof value === 'object' && value !== null ? value : {}) as { format?: unknown; v?: unknown };
  if (format !== 'retinue-export') throw new Error('this is not a Retinue export');
  if (typeof v === 'number' && v > exportVersion)
    throw new Error(`an export of version ${v}; this Retinue reads versions up to ${exportVersion}`);
  return parseWith(ExportHeader, value);
}

function parseWith<T extends z.ZodType>(schema: T, value: unknown, prefix = ''): z.infer<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new Error(`${prefix}${issue?.path.join('.') || 'the line'}: ${issue?.message}`);
}

function faultToError({ runId, seq, what }: ChainFault): Error {
  return new Error(`event ${seq} of run ${runId}: ${what}`);
}

export function createImportError(why: string, options: { cause?: unknown; option?: ErrorOption } = {}): RetinueError {
  return new RetinueError('invalid_import', `this cannot be imported: ${why}; nothing was written`, options);
}

/** Messages of parsers quote the input, which may be long. */
function clipMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}
