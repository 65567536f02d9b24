import type { RunRow } from '../../../src/contract/run.ts';
import type { TreeAppend, WrittenFact } from '../../../src/ports/store.ts';

const at = '2026-01-02T03:04:05.678Z';

export const createRunId = (n: number) => n.toString(16).padStart(16, '0');

/** Facts `from` to `to` of a run in the tree of a root, with its row. */
export function createUnit(rootId: string, run: string, from: number, to = from): TreeAppend {
  const facts: WrittenFact[] = [];
  for (let seq = from; seq <= to; seq++) {
    const data = { from: 'test', text: `${run} ${seq} ${'x'.repeat(100)}` };
    facts.push({ runId: run, seq, at, v: 1, type: 'message.received', data, hash: createHash(seq), text: JSON.stringify(data) });
  }
  return { rootId, facts, rows: [createRow(rootId, run, to)], blobs: [], consumed: [] };
}

function createRow(rootId: string, run: string, lastSeq: number): RunRow {
  const parentId = rootId === run ? null : rootId;
  const nulls = {
    label: null,
    agent: null,
    model: null,
    activity: null,
    costUsd: null,
    startedAt: null,
    endedAt: null,
    idempotencyKey: null,
  };
  const tokens = { input: 0, output: 0, cached: 0, reasoning: 0 };
  const lastHash = createHash(lastSeq);
  return {
    runId: run,
    parentId,
    rootId,
    depth: 0,
    kind: 'agent',
    status: 'running',
    turns: 0,
    tokens,
    createdAt: at,
    lastSeq,
    lastHash,
    ...nulls,
  };
}

function createHash(seq: number): string {
  return seq.toString(16).padStart(64, '0');
}
