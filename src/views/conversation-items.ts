// What a conversation of a run consists of, as a reader sees it.
import type { FactData } from '../contract/fact.ts';
import type { Decision } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { SummaryTracker } from './summary-tracker.ts';

/** A tool call from its request to its result. */
export interface CallItem {
  kind: 'call';
  seq: number;
  at: string;
  /** `turn.index`. */
  call: string;
  tool: string;
  arguments: Json;
  decision: Decision;
  rejected: FactData['tool.asked']['rejected'];
  /** `waiting`: for approval. `open`: it has no result yet. */
  status: 'open' | 'waiting' | FactData['tool.finished']['status'];
  output: string;
  truncated: FactData['tool.finished']['truncated'];
  taint: string[];
  /** Diffs and other artifacts that it recorded. */
  artifacts: FactData['artifact.recorded']['artifact'][];
  /** Runs that it delegated. */
  children: { id: string; label: string | null; agent: string | null; outcome: Outcome | null }[];
  endedAt: string | null;
}

export interface AnswerItem {
  kind: 'answer';
  seq: number;
  at: string;
  turn: number;
  text: string;
  reasoning: string;
  usage: FactData['model.answered']['usage'];
  costUsd: number | null;
  /** From the request to the answer. */
  ms: number;
}

/** Anything else that happened, as one line or text. */
export interface NoteItem {
  kind: 'prompt' | 'message' | 'nudge' | 'failure' | 'pause' | 'resume' | 'cancel' | 'child' | 'context' | 'log';
  seq: number;
  at: string;
  /** Who or what it comes from; empty if that is clear. */
  from: string;
  text: string;
  /** Of a compaction: input tokens of the call that summarised the conversation and of the next call; null while unknown. */
  compaction?: { before: number | null; after: number | null };
}

export interface EndItem {
  kind: 'end';
  seq: number;
  at: string;
  outcome: Outcome;
}

export type ConversationItem = CallItem | AnswerItem | NoteItem | EndItem;

export interface Conversation {
  items: ConversationItem[];
  /** The answer that is being streamed; null if none is. */
  streaming: { turn: number; text: string; reasoning: string } | null;
  /** Whether the open request asks for a summary of the conversation, which is no answer. */
  isCompacting: boolean;
  /** When the open model request was made; null if none is open. */
  askedAt: string | null;
  turn: number;
  calls: Map<string, CallItem>;
  summaries: SummaryTracker;
}
