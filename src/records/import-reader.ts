// Reading an export: lines that anybody may have written, made into what a store can append, or refused with the number of the first line
// that is wrong. Pure: nothing is written before the last line has been checked.
//
// I1. Every line has the form of the contract, every fact the schema of its type, every text the hash it is named by.
// I2. The facts are one whole tree: each run chained by hash from run.created on, each child named by its parent, nothing after an end.
// I3. What the header promises is there, no more and no less.
import type { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import { ExportBlob, ExportFact, ExportHeader, exportVersion } from '../contract/export.ts';
import { type Fact, type FactOf, factData, newestFactVersion } from '../contract/fact.ts';
import { stateToRow } from '../kernel/outcome.ts';
import { initialState, type RunState, reduce } from '../kernel/state.ts';
import type { TreeAppend } from '../ports/store.ts';
import { canonical, sha256 } from '../text/canonical.ts';
import { blobHashesOf } from './blobs.ts';
import { createTreeCheck } from './verify-chain.ts';

/** All of it is in memory until it is written at once. */
const maxBytes = 512 * 1024 * 1024;

export interface ImportReader {
  /** Throws RetinueError `invalid_import`. */
  line(text: string): void;
  /** What to append. Throws RetinueError `invalid_import`. */
  end(): { header: ExportHeader; unit: TreeAppend };
}

export function createImportReader(): ImportReader {
  const check = createTreeCheck();
  const states = new Map<string, RunState>();
  const blobs = new Map<string, string>();
  const pinned = new Set<string>();
  const facts: TreeAppend['facts'] = [];
  let header: ExportHeader | null = null;
  let lines = 0;
  let bytes = 0;

  function takeBlob(value: unknown): void {
    const { blob, text } = parsed(ExportBlob, value);
    if (facts.length > 0) throw new Error('a text stands behind the facts');
    if (blobs.has(blob)) throw new Error(`the text ${blob} is there twice`);
    if (!text.isWellFormed() || sha256(text) !== blob) throw new Error(`the text ${blob} was changed`);
    blobs.set(blob, text);
  }

  function takeFact(value: unknown, { rootId }: ExportHeader): void {
    const { v, type, data } = parsed(ExportFact, value);
    if (v > newestFactVersion(type)) throw new Error(`a ${type} of version ${v}, written by a newer Retinue; update Retinue to import it`);
    parsed(factData[type], data, `${type}: `);
    const fact = value as Fact;
    const text = canonical(fact.data);
    if (!text.isWellFormed()) throw new Error('a text that is no Unicode');
    const broken = check.add(fact);
    if (broken) throw new Error(`fact ${broken.seq} of run ${broken.runId}: ${broken.what}`);
    fold(fact, rootId);
    for (const hash of blobHashesOf(fact)) pinned.add(hash);
    facts.push({ ...fact, text });
  }

  function fold(fact: Fact, rootId: string): void {
    const state = states.get(fact.runId);
    if (state?.phase.name === 'ended') throw new Error(`a fact of run ${fact.runId} stands behind its end`);
    if ((fact.type === 'run.created') !== (state === undefined)) throw new Error(`run ${fact.runId} does not begin with run.created`);
    if (state) reduce(state, fact);
    else states.set(fact.runId, placed(fact as FactOf<'run.created'>, rootId));
  }

  function placed(fact: FactOf<'run.created'>, rootId: string): RunState {
    const { parentId, depth, rootId: root } = fact.data;
    const parent = parentId === null ? null : states.get(parentId);
    const isRoot = fact.runId === rootId;
    const fits = isRoot
      ? parentId === null && depth === 0
      : parent !== null && parent !== undefined && depth === parent.created.data.depth + 1;
    if (root !== rootId || !fits) throw new Error(`run ${fact.runId} has no place in the tree of ${rootId}`);
    return initialState(fact);
  }

  function take(text: string): void {
    const value = JSON.parse(text) as unknown;
    if (header === null) header = headerOf(value);
    else if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'blob')) takeBlob(value);
    else takeFact(value, header);
  }

  /** What only the whole can show. */
  function whole({ rootId, runs, facts: count, lastHash }: ExportHeader): void {
    if (facts.length !== count) throw new Error(`the header says ${count} facts, and there are ${facts.length}`);
    if (states.size !== runs) throw new Error(`the header says ${runs} runs, and there are ${states.size}`);
    if (states.get(rootId)?.hash !== lastHash) throw new Error('the header has another last hash than the root');
    const [broken] = check.faults();
    if (broken) throw new Error(`fact ${broken.seq} of run ${broken.runId}: ${broken.what}`);
    for (const { runId, created } of states.values()) {
      const { parentId } = created.data;
      if (parentId !== null && !states.get(parentId)?.children.has(runId)) throw new Error(`run ${runId} is not named by its parent`);
    }
    for (const state of states.values()) for (const child of state.children.values()) belongs(child.id, state.runId);
    for (const hash of pinned) if (!blobs.has(hash)) throw new Error(`the text ${hash}, to which facts point, is missing`);
    for (const hash of blobs.keys()) if (!pinned.has(hash)) throw new Error(`no fact points to the text ${hash}`);
  }

  function belongs(childId: string, parentId: string): void {
    if (states.get(childId)?.created.data.parentId !== parentId)
      throw new Error(`run ${childId} is another run's child than ${parentId}'s`);
  }

  return {
    line(text) {
      lines++;
      bytes += text.length;
      if (bytes > maxBytes) throw refusal(`it has more than ${maxBytes / 1024 / 1024} MiB`);
      try {
        take(text);
      } catch (error) {
        throw refusal(`line ${lines}: ${reason(error)}`, error);
      }
    },
    end() {
      if (header === null) throw refusal('it is empty');
      try {
        whole(header);
      } catch (error) {
        throw refusal(reason(error), error);
      }
      const unit = { rootId: header.rootId, facts, rows: [...states.values()].map(stateToRow), consumed: [] };
      return { header, unit: { ...unit, blobs: [...blobs].map(([hash, text]) => ({ hash, text })) } };
    },
  };
}

function headerOf(value: unknown): ExportHeader {
  const { format, v } = (typeof value === 'object' && value !== null ? value : {}) as { format?: unknown; v?: unknown };
  if (format !== 'retinue-export') throw new Error('this is no export of Retinue');
  if (typeof v === 'number' && v > exportVersion)
    throw new Error(`an export of version ${v}; this Retinue knows versions up to ${exportVersion}`);
  return parsed(ExportHeader, value);
}

function parsed<T extends z.ZodType>(schema: T, value: unknown, where = ''): z.infer<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new Error(`${where}${issue?.path.join('.') || 'the line'}: ${issue?.message}`);
}

function refusal(why: string, cause?: unknown): RetinueError {
  return new RetinueError('invalid_import', `this cannot be imported: ${why}; nothing was written`, { cause });
}

/** Parsers quote what they meet, which may be long. */
function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}
