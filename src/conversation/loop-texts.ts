// The contract of a loop version: every text and limit that affects a request, a nudge or an outcome without being recorded in a fact. A run keeps
// the version it started with, so replay, resume and follow-ups rebuild the same bytes. To change a text, add a version; never edit an old one.
import type { LimitCause } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';

/** What a hand-over is made of. */
export interface HandOverParts {
  /** The last turn that it covers. */
  turn: number;
  /** The summary as the model wrote it. */
  text: string;
  /** The answer ended at its length limit. */
  isCut: boolean;
  /** Paths and versions of files that were read or changed, as recorded, in the order of the paths. */
  files: [path: string, version: string][];
  /** Paths that the run has changed. */
  changed: ReadonlySet<string>;
  /** Paths in the order in which they were last read or changed, the latest first. */
  latest: string[];
  /** Sources of the conversation that it replaces. */
  taint: string[];
}

export interface CompactionTexts {
  /** Asks for the summary. */
  prompt: string;
  /** The message that replaces the conversation. */
  handOver(parts: HandOverParts): string;
  /** A hand-over may have at most this share of the bytes that it replaces. */
  maxShare: number;
  /** Turns after a compaction that failed or did not help, until the next attempt. */
  retryAfterTurns: number;
  /** After a request that was refused as too long, at most this share of it is summarised; absent: such requests are not compacted. */
  refusedShare?: number;
}

export interface LoopVersion {
  version: number;
  /** Identical calls in a row: refused from the first number on, fatal at the second. `maxRepairs`: invalid arguments or results in a row. */
  limits: { repeatRefused: number; repeatFatal: number; maxRepairs: number };
  /** Arguments nested deeper than this were refused, and are `{}` in later requests; absent: they are sent as the model wrote them. */
  argumentDepth?: number;
  /** Whether an answer says nothing, beyond the empty text. */
  isEmptyAnswer?(text: string): boolean;
  /** The tool that reads the rest of a child's text; `pinned` is the one recorded in run.started. */
  readTool(dialect: string, pinned: string | undefined): string | null;
  /** Reports a child that ended in the background. `readTool`: where the rest of a cut text is. */
  childEnded(outcome: Outcome, readTool: string | null): string;
  message(from: string, text: string): string;
  wrapUp(cause: LimitCause): string;
  /** Tool calls past the limit of one answer were dropped. */
  callsDropped(count: number): string;
  /** Replaces a tool result that was removed to make room. */
  resultPruned: string;
  /** Absent: conversations of this version are not compacted. */
  compaction?: CompactionTexts;
  nudges: { empty: string; cut: string; result: string };
  endings: {
    limit(limit: string): string;
    loop(times: number): string;
    malformed(times: number): string;
    resultInvalid(times: number): string;
    resultMissing: string;
    refused: string;
    empty: string;
  };
}
