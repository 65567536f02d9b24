import type { Brief } from '../contract/brief.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import type { PathConflict } from './checkouts.ts';

/** A child as its parent sees it. `outcome` is null until it has ended. */
export interface ChildView {
  row: RunRow;
  outcome: Outcome | null;
  /** Untrusted sources that it has read. */
  taint?: readonly string[];
}

/** The result of starting one brief. */
export type DelegationStart = { ok: true; runId: string } | { ok: false; error: ErrorInfo };

/**
 * The capability to delegate, for the tools of one run. Children go through the same admission as roots, which narrows rights, budget and
 * deadline to the parent's. Refusals are values; methods reject only if the store fails.
 */
export interface Delegation {
  /** `trace`: the trace of the caller, for the children. Absent: that of the caller's run. */
  start(briefs: Brief[], options?: { trace?: TraceHeaders | undefined }): Promise<DelegationStart[]>;
  /** Resolves when all (or any) of the runs have ended, after `ms` (null: no timeout), when the signal fires, or when the caller is stopped. */
  wait(ids: string[], options: { mode: 'all' | 'any'; ms: number | null; signal?: AbortSignal }): Promise<void>;
  /** A child of the caller; null for any other run. */
  view(id: string): ChildView | null;
  /** For a client: a run of another client that it may see (`kernel/delegation/client-reach.ts`). Null for every other run and caller. */
  viewEarlier(id: string): Promise<ChildView | null>;
  children(): ChildView[];
  /**
   * The newest run that continues the run of this id, directly or through others. A label means the newest child that has it. Any other text is returned
   * as it is.
   */
  newest(idOrLabel: string): string;
  /**
   * Sends a message to a live child; a finished child is continued by a new run. Returns the id of the run that gets the message. `newest`: the message is for
   * `newest(id)`. Messages are sent one after another, so that two of them to a finished child start one run.
   */
  message(id: string, text: string, options?: { newest?: boolean }): Promise<DelegationStart>;
  /** Null for a run that is not the caller's child. */
  read(id: string, part: ReadPart, page: { offset: number; limit: number }): Promise<Page | null>;
  cancel(ids: string[], reason: string | null): Promise<void>;
  /** Merges what ended children changed in files of their own into the caller's files, in this order. `check`: changes nothing. */
  apply(ids: string[], options: { check: boolean }): Promise<DelegationApply>;
  /** Identifies the tool call that uses this capability. */
  readonly call: string;
  /** How much of a child's text may enter the caller's context at once. Null: a client without a limit; the children's own limits apply. */
  readonly maxOutputBytes: number | null;
  /** How many children the caller may have at the same time. */
  readonly maxConcurrent: number | null;
  /** Agents that a brief may name. */
  agents(): { name: string; description: string }[];
}

/** What became of the changes. `files`: paths that were changed, or would be. `left`: paths that changed meanwhile and were left alone. */
export type DelegationApply =
  | { ok: true; applied: string[]; conflicts: { runId: string; paths: PathConflict[] }[]; files: string[]; left: string[] }
  | { ok: false; error: ErrorInfo };

export type ReadPart = 'summary' | 'diff' | 'log' | 'artifact';

/** A slice of a text, in characters. */
export interface Page {
  text: string;
  offset: number;
  total: number;
}
