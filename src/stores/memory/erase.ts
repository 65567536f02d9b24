// Erasing trees of a memory store.
import { isLive } from '../../contract/run-status.ts';
import type { EraseResult } from '../../ports/store.ts';
import { deleteOrders, type MemoryData, type RunRecord } from './data.ts';

export function eraseTree(memory: MemoryData, rootId: string, at: string): EraseResult {
  const tree = memory.trees.get(rootId);
  if (tree === undefined || tree.runs.length === 0) return { ok: false, reason: 'unknown' };
  if (tree.runs.some(({ row }) => row !== null && isLive(row.status))) return { ok: false, reason: 'live' };
  const weight = weighStoredTrees(memory, [rootId]);
  for (const hash of listUnsharedBlobs(memory, [rootId])) memory.blobs.delete(hash);
  tree.pins.clear();
  tree.consumed.clear();
  for (const fact of tree.facts) fact.text = '';
  for (const run of tree.runs) eraseRow(memory, run, at);
  deleteOrders(memory, rootId);
  return { ok: true, ...weight };
}

export function weighStoredTrees(memory: MemoryData, rootIds: string[]): { facts: number; bytes: number } {
  const texts = rootIds.flatMap((rootId) => memory.trees.get(rootId)?.facts ?? []).filter(({ text }) => text !== '');
  const blobs = listUnsharedBlobs(memory, rootIds).map((hash) => memory.blobs.get(hash) ?? '');
  const contents = [...texts.map(({ text }) => text), ...blobs];
  return { facts: texts.length, bytes: contents.reduce((sum, content) => sum + Buffer.byteLength(content), 0) };
}

/** Hashes of the blobs of these trees that no other tree uses. */
function listUnsharedBlobs(memory: MemoryData, rootIds: string[]): string[] {
  const hashes = new Set(rootIds.flatMap((rootId) => [...(memory.trees.get(rootId)?.pins ?? [])]));
  for (const [rootId, { pins }] of memory.trees) if (!rootIds.includes(rootId)) for (const hash of pins) hashes.delete(hash);
  return [...hashes];
}

function eraseRow(memory: MemoryData, run: RunRecord, at: string): void {
  if (run.row === null) return;
  const { parentId, idempotencyKey } = run.row;
  if (idempotencyKey !== null) memory.keys.delete(JSON.stringify([parentId, idempotencyKey]));
  run.row = { ...run.row, activity: null, idempotencyKey: null, label: null, erasedAt: run.row.erasedAt ?? at };
}
