// Exports the spans of the trees that this process drives. The journal is the queue: a fact only wakes the exporter, which reads the facts of the tree
// from the store when it has sent those before them.
//
// X1. Nothing waits for the exporter except `flush`, which is bounded. Its failures are reported once.
// X2. A tree is read from its first fact. A process that continues a tree exports all its spans again, because it cannot know which ones the
//     process before it had sent. Ids are the same, so that a receiver can drop the copies.
// X3. Memory is bounded: at most one batch of spans, the open spans of live trees, and the ids of changed runs.
// X4. Spans that the receiver refuses for good are dropped; others are sent again until they are taken. `flush` tries once and gives up what is left.
import type { StoredFact } from '../contract/fact.ts';
import type { Span } from './span.ts';
import { createTreeSpans, type TreeSpans, type TreeSpansOptions } from './tree-spans.ts';

export type SendResult = { ok: true } | { ok: false; again: boolean; reason: string };

export interface ExporterOptions extends TreeSpansOptions {
  readFacts(query: { rootId: string; after?: string; limit: number }): Promise<StoredFact[]>;
  /** Null for an unknown run. */
  findRoot(runId: string): Promise<string | null>;
  send(spans: Span[], signal: AbortSignal): Promise<SendResult>;
  /** Called at most once. */
  report(problem: string): void;
  /** Calls `run` once after `ms`, unless the returned function is called before. Does not keep the process alive. */
  schedule(ms: number, run: () => void): () => void;
}

export interface Exporter {
  /** A fact of this run was recorded. */
  wake(runId: string): void;
  /** Sends what has been recorded so far. Resolves after `ms` at the latest; never rejects. */
  flush(ms: number): Promise<void>;
}

/** How long facts are collected before they are sent. */
const delayMs = 1_000;
const maxBackoffMs = 60_000;
const maxBatch = 256;
const pageSize = 200;
/** Live trees, ended trees and changed runs that are remembered. What falls out is at worst exported twice. */
const maxKnown = 10_000;

interface Tree {
  spans: TreeSpans;
  after: string | undefined;
}

export function createExporter(options: ExporterOptions): Exporter {
  const { readFacts, findRoot, send, schedule } = options;
  let changed = new Set<string>();
  const trees = new Map<string, Tree>();
  /** Positions of ended trees: a late wake-up must not export them again. */
  const ended = new Map<string, string>();
  const rootOf = new Map<string, string>();
  let batch: Span[] = [];
  let backoffMs = 0;
  let working: Promise<void> | null = null;
  let cancelTimer: (() => void) | null = null;
  let aborter = new AbortController();
  let hasReported = false;

  function report(problem: string): void {
    if (!hasReported) options.report(problem);
    hasReported = true;
  }

  function plan(ms: number): void {
    cancelTimer ??= schedule(ms, () => {
      cancelTimer = null;
      void work();
    });
  }

  function stopTimer(): void {
    cancelTimer?.();
    cancelTimer = null;
  }

  /** One pass at a time. Never rejects. */
  function work(): Promise<void> {
    const { signal } = aborter;
    working ??= exportChanges(signal)
      .catch((error: unknown) => {
        if (!signal.aborted) report(`the log cannot be read: ${(error as Error)?.message ?? error}`);
        return false;
      })
      .then((isDone) => {
        working = null;
        backoffMs = isDone ? 0 : Math.min(maxBackoffMs, Math.max(delayMs, backoffMs * 2));
        if (!signal.aborted && (changed.size > 0 || batch.length > 0)) plan(Math.max(delayMs, backoffMs));
      });
    return working;
  }

  /** False if something has to be sent again later. */
  async function exportChanges(signal: AbortSignal): Promise<boolean> {
    const runIds = changed;
    changed = new Set();
    try {
      while (runIds.size > 0 && !signal.aborted) {
        const [runId = ''] = runIds;
        const rootId = rootOf.get(runId) ?? (await findRoot(runId));
        if (rootId !== null && !(await exportTree(rootId, signal))) return false;
        runIds.delete(runId);
        // Their facts were durable before the tree was read.
        for (const other of runIds) if (rootOf.get(other) === rootId) runIds.delete(other);
      }
      return await sendBatch(signal);
    } finally {
      if (!signal.aborted) changed = new Set([...runIds, ...changed]);
    }
  }

  async function exportTree(rootId: string, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      if (batch.length >= maxBatch && !(await sendBatch(signal))) return false;
      if (signal.aborted) return false;
      const tree = trees.get(rootId) ?? { spans: createTreeSpans(options), after: ended.get(rootId) };
      const facts = await readFacts({ rootId, limit: pageSize, ...(tree.after === undefined ? {} : { after: tree.after }) });
      for (const fact of facts) {
        if (fact.type === 'run.created') remember(rootOf, fact.runId, rootId);
        batch.push(...tree.spans.apply(fact));
        tree.after = fact.position;
      }
      const isOver = tree.spans.isEnded() || ended.has(rootId);
      if (isOver) trees.delete(rootId);
      if (isOver && tree.after !== undefined) remember(ended, rootId, tree.after);
      if (!isOver) remember(trees, rootId, tree);
      if (facts.length < pageSize) return true;
    }
  }

  async function sendBatch(signal: AbortSignal): Promise<boolean> {
    while (batch.length > 0) {
      const part = batch.slice(0, maxBatch);
      const result = await send(part, signal);
      if (signal.aborted) return false;
      if (!result.ok) report(result.reason);
      if (!result.ok && result.again) return false;
      batch = batch.slice(part.length);
    }
    return true;
  }

  return {
    wake(runId) {
      changed.add(runId);
      if (changed.size > maxKnown) changed.delete(changed.values().next().value as string);
      if (!working) plan(delayMs);
    },
    async flush(ms) {
      stopTimer();
      const { promise: late, resolve } = Promise.withResolvers<'late'>();
      const cancelLimit = schedule(ms, () => resolve('late'));
      const flushed = (async () => {
        // A pass that is under way may have read its facts before the last ones were recorded.
        await working;
        stopTimer();
        if (changed.size > 0 || batch.length > 0) await work();
      })();
      if ((await Promise.race([flushed, late])) === 'late') report(`not everything could be sent within ${ms / 1000} s`);
      cancelLimit();
      stopTimer();
      aborter.abort();
      aborter = new AbortController();
      changed.clear();
      batch = [];
    },
  };
}

/** Adds an entry, and forgets the oldest one if there are too many. Maps keep the order of insertion. */
function remember<T>(known: Map<string, T>, key: string, value: T): void {
  known.set(key, value);
  const [oldest] = known.keys();
  if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
}
