import type { Brief } from '../contract/brief.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';

/** A child as its parent sees it: where it stands, and its outcome once it has ended. */
export interface ChildView {
  row: RunRow;
  outcome: Outcome | null;
  /** Where what it has read comes from, when that is not to be trusted. */
  taint?: readonly string[];
}

/** What became of one brief. */
export type DelegationStart = { ok: true; runId: string } | { ok: false; error: ErrorInfo };

/**
 * The right to delegate, as a tool holds it. It is the same door as for a root: rights, budget, deadline and abort
 * signal are narrowed behind it. Refusals are values; nothing here rejects but for a failing store.
 */
export interface Delegation {
  start(briefs: Brief[]): Promise<DelegationStart[]>;
  /** Ends when all (or any) of the runs have ended, when `ms` are over, the signal fires or the caller is stopped. Null: no limit but the deadline. */
  wait(ids: string[], options: { mode: 'all' | 'any'; ms: number | null; signal?: AbortSignal }): Promise<void>;
  /** The caller's own children; null for an id that is none of them. */
  view(id: string): ChildView | null;
  /** For a client: what an earlier client of the same store delegated, which stays readable. Null for anybody else. */
  recall(id: string): Promise<ChildView | null>;
  children(): ChildView[];
  /** Steers a live child; a finished one is asked a follow-up in a new run. */
  message(id: string, text: string): Promise<DelegationStart>;
  read(id: string, part: ReadPart, page: { offset: number; limit: number }): Promise<Page | null>;
  cancel(ids: string[], reason: string | null): Promise<void>;
  /** Names the one call that holds this. */
  readonly call: string;
  /** As much of a child's text goes into the caller's context at once. */
  readonly maxOutputBytes: number;
  /** Agents that a brief may name. */
  agents(): { name: string; description: string }[];
}

export type ReadPart = 'summary' | 'diff' | 'log' | 'artifact';

/** A slice of a text, in characters. */
export interface Page {
  text: string;
  offset: number;
  total: number;
}
