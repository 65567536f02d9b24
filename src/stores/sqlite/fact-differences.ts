// How the data of facts is stored. Most facts of a tree resemble an earlier one of the same type: siblings have the same grant, and turns differ in a few
// fields. Such a fact is stored as a JSON merge patch (RFC 7396) to the earlier one, its base, which halves the database. In SQL, `json_patch` gives the
// data back.
//
// 1. A base is stored whole, and belongs to the same tree: it is erased with the facts that need it.
// 2. Facts are canonical JSON, so the same value has the same bytes again, and the hash of the fact still proves them.
// 3. Bases of a transaction are used by later ones only after its commit.
import type { JsonObject } from '../../contract/json.ts';
import type { WrittenFact } from '../../ports/store.ts';
import { canonical } from '../../text/canonical.ts';
import { applyMergePatch, createMergePatch } from '../../text/merge-patch.ts';

/** The version of the database from which on facts have bases. */
export const differencesVersion = 10;

/** `base`: the position of the fact that `data` is a patch to; null if `data` is whole. */
export interface StoredData {
  base: number | null;
  data: string;
}

export interface DifferenceEncoder {
  /** Must be called when a transaction begins, also when it is tried again. */
  begin(): void;
  encode(fact: WrittenFact, at: { rootId: string; position: number }): StoredData;
  /** Must be called after the commit. */
  keep(): void;
  /** Must be called when a tree has ended: its facts may be erased from now on. */
  forget(rootId: string): void;
}

interface Base {
  position: number;
  text: string;
  /** A private copy; made at the first use. */
  data: JsonObject | null;
}

/** By type of fact. */
type Bases = Map<string, Base>;

/** Longer facts are mostly texts of their own. */
const maxBaseLength = 4_096;
/** The same in UTF-8. */
export const maxBaseBytes = 3 * maxBaseLength;
/** A patch may have at most this part of the length. A longer one means that the base no longer fits: the fact becomes the next base. */
const maxPatchPart = 2 / 3;
const maxTrees = 64;

export function createDifferenceEncoder(): DifferenceEncoder {
  /** By the root of the tree; the one that was added first is first. */
  const kept = new Map<string, Bases>();
  const staged = new Map<string, Bases>();

  function encode({ type, data, text }: WrittenFact, { rootId, position }: { rootId: string; position: number }): StoredData {
    const base = staged.get(rootId)?.get(type) ?? kept.get(rootId)?.get(type);
    if (base !== undefined) {
      base.data ??= JSON.parse(base.text) as JsonObject;
      const patch = createMergePatch(base.data, data as JsonObject);
      const difference = patch && canonical(patch);
      if (difference !== null && difference.length <= text.length * maxPatchPart) return { base: base.position, data: difference };
    }
    if (text.length <= maxBaseLength) setBase(staged, rootId, type, { position, text, data: null });
    return { base: null, data: text };
  }

  function keep(): void {
    for (const [rootId, bases] of staged) for (const [type, base] of bases) setBase(kept, rootId, type, base);
    staged.clear();
    while (kept.size > maxTrees) kept.delete(kept.keys().next().value as string);
  }

  return {
    begin: () => staged.clear(),
    encode,
    keep,
    forget: (rootId) => void kept.delete(rootId),
  };
}

export interface DifferenceDecoder {
  /** Throws if the data, or that of its base, is missing or not JSON. `baseData`: of the base. */
  decode(stored: StoredData & { baseData: string | null }): unknown;
}

const maxParsed = 256;

/** Remembers parsed bases: the facts of a tree share a few. */
export function createDifferenceDecoder(): DifferenceDecoder {
  const parsed = new Map<number, { text: string; data: JsonObject }>();

  function parseBase(position: number, text: string): JsonObject {
    const known = parsed.get(position);
    if (known?.text === text) return known.data;
    if (parsed.size >= maxParsed) parsed.clear();
    const data = JSON.parse(text) as JsonObject;
    parsed.set(position, { text, data });
    return data;
  }

  return {
    decode: ({ base, data, baseData }) =>
      base === null ? JSON.parse(data) : applyMergePatch(parseBase(base, baseData ?? ''), JSON.parse(data) as JsonObject),
  };
}

function setBase(all: Map<string, Bases>, rootId: string, type: string, base: Base): void {
  const bases = all.get(rootId) ?? new Map<string, Base>();
  bases.set(type, base);
  all.set(rootId, bases);
}
