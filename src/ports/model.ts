import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ContentPart, Usage } from '../contract/content.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';

/** A model ready for use. Behind all handles of a name stands one provider instance of the process. */
export interface ModelHandle {
  id: string;
  /** Calls with the same lane share back-off: usually the provider's name. */
  lane: string;
  model: LanguageModelV4;
  contextWindow: number | null;
  maxOutputTokens: number | null;
  /** What a call cost in USD; null where the price is not known. Never 0 for unknown. */
  price: ((usage: Usage) => number | null) | null;
  /** Called when the run that used the handle is about to end well; a scripted model then complains about steps left over. */
  finished?(runId: string): ErrorInfo | null;
}

export interface ModelRequester {
  runId: string;
  rootId: string;
  workspace: string;
  agent: string;
  label: string | null;
  task: string;
}

/**
 * Finds models by name (`provider/model`).
 * Misuse rejects: RetinueError `unknown_model` names what is missing and the nearest right name.
 * Failures of a call itself come out of the model (`APICallError` and the like) and are the loop's to handle.
 */
export interface Models {
  /** `run` is the run that asks: a scripted model gives each run its own steps. */
  resolve(name: string, run: ModelRequester): Promise<ModelHandle>;
}

/** A whole answer. Tool calls past the most that one may have are left out and counted. */
export interface ModelAnswer {
  content: ContentPart[];
  finish: FactData['model.answered']['finish'];
  usage: Usage;
  dropped: number;
}

/** What went wrong with a call: a code, whether trying again may help, and how long the provider wants to be left alone. */
export interface ModelFailure {
  error: ErrorInfo;
  /** The provider is over its load or quota: the whole lane backs off. */
  limited: boolean;
  retryAfterMs: number | null;
}

export type ModelCallResult =
  | { ok: true; answer: ModelAnswer }
  /** `aborted`: the caller's own signal ended it. `text` and `usage` are what had come by then. */
  | { ok: false; failure: ModelFailure; text: string; usage: Usage | null; aborted: boolean };

export interface ModelCall {
  model: LanguageModelV4;
  options: LanguageModelV4CallOptions;
  /** Stands for the input tokens where the provider gives none. */
  requestBytes: number;
  firstByteMs: number;
  idleMs: number;
  signal: AbortSignal;
  /** The first event of the model is there. */
  onFirst(): void;
  onDelta(kind: 'text' | 'reasoning' | 'tool', text: string): void;
}

/** Makes one call, streaming. Never rejects and never outlives its signal by more than a moment; trying again is the caller's. */
export type ModelCaller = (call: ModelCall) => Promise<ModelCallResult>;
