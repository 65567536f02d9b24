import { isLive, type RunRow } from '../../contract/run.ts';
import type { EraseResult } from '../../ports/store.ts';
import type { KeptRun, Memory } from './data.ts';

export function eraseTree(memory: Memory, rootId: string, at: string): EraseResult {
  const tree = memory.trees.get(rootId);
  if (tree === undefined || tree.runs.length === 0) return { ok: false, reason: 'unknown' };
  if (tree.runs.some(({ row }) => row !== null && isLive(row.status))) return { ok: false, reason: 'live' };
  const weight = weighTrees(memory, [rootId]);
  for (const hash of loose(memory, [rootId])) memory.blobs.delete(hash);
  tree.pins.clear();
  for (const fact of tree.facts) fact.text = '';
  for (const run of tree.runs) eraseRow(memory, run, at);
  for (const [id, order] of memory.orders) if (order.rootId === rootId) memory.orders.delete(id);
  return { ok: true, ...weight };
}

export function weighTrees(memory: Memory, rootIds: string[]): { facts: number; bytes: number } {
  const texts = rootIds.flatMap((rootId) => memory.trees.get(rootId)?.facts ?? []).filter(({ text }) => text !== '');
  const blobs = loose(memory, rootIds).map((hash) => ({ text: memory.blobs.get(hash) ?? '' }));
  return { facts: texts.length, bytes: [...texts, ...blobs].reduce((sum, { text }) => sum + Buffer.byteLength(text), 0) };
}

/** Hashes of blobs that no other tree was given. */
function loose(memory: Memory, rootIds: string[]): string[] {
  const own = new Set(rootIds.flatMap((rootId) => [...(memory.trees.get(rootId)?.pins ?? [])]));
  for (const [rootId, { pins }] of memory.trees) if (!rootIds.includes(rootId)) for (const hash of pins) own.delete(hash);
  return [...own];
}

function eraseRow(memory: Memory, run: KeptRun, at: string): void {
  if (run.row === null) return;
  const { parentId, idempotencyKey } = run.row;
  if (idempotencyKey !== null) memory.keys.delete(JSON.stringify([parentId, idempotencyKey]));
  run.row = erasedRow(run.row, at);
}

function erasedRow(row: RunRow, at: string): RunRow {
  return { ...row, activity: null, idempotencyKey: null, label: null, erasedAt: row.erasedAt ?? at };
}
