import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ContentPart, Usage } from '../contract/content.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';

/** A model that is ready to be called. */
export interface ModelHandle {
  id: string;
  /** Calls of the same lane share their back-off. Usually the provider's name. */
  lane: string;
  model: LanguageModelV4;
  contextWindow: number | null;
  maxOutputTokens: number | null;
  /** The cost of a call in USD; null if the price is unknown, never 0. */
  price: ((usage: Usage) => number | null) | null;
  /** Called when a run is about to complete. A scripted model returns an error if it has steps left over. */
  finished?(runId: string): ErrorInfo | null;
}

/** The run that a model is resolved for. */
export interface ModelRequester {
  runId: string;
  rootId: string;
  workspace: string;
  agent: string;
  label: string | null;
  task: string;
  /**
   * Given if a model or an MCP client chose the name, and not the user: the model of the root, or for a client the default one. A provider
   * whose models are files accepts only this name then, and reads nothing for any other.
   */
  rootModel?: string | null;
}

/**
 * Finds models by name (`provider/model`). Rejects with RetinueError `unknown_model`, which says what is missing and suggests the nearest
 * name. Failures of calls are not handled here.
 */
export interface Models {
  /** A scripted model uses `run` to give each run its own steps. */
  resolve(name: string, run: ModelRequester): Promise<ModelHandle>;
}

/** A complete answer. `dropped` counts tool calls beyond the maximum of one answer, which `content` does not include. */
export interface ModelAnswer {
  content: ContentPart[];
  finish: FactData['model.answered']['finish'];
  usage: Usage;
  dropped: number;
}

export interface ModelFailure {
  error: ErrorInfo;
  /** The provider refused because of load or quota, so the whole lane backs off. */
  limited: boolean;
  /** How long the provider asks to wait; null if it does not say. */
  retryAfterMs: number | null;
}

export type ModelCallResult =
  | { ok: true; answer: ModelAnswer }
  /** `aborted`: the caller's signal ended the call. `text` and `usage`: what had arrived by then. */
  | { ok: false; failure: ModelFailure; text: string; usage: Usage | null; aborted: boolean };

export interface ModelCall {
  model: LanguageModelV4;
  options: LanguageModelV4CallOptions;
  /** Estimates the input tokens if the provider reports none. */
  requestBytes: number;
  /** Further tool calls of the answer are dropped and counted. */
  maxToolCalls: number;
  firstByteMs: number;
  idleMs: number;
  signal: AbortSignal;
  /** Called when the first event of the answer arrives. */
  onFirst(): void;
  onDelta(kind: 'text' | 'reasoning' | 'tool', text: string): void;
}

/** Makes one streaming call, without retrying. Never rejects, and ends soon after its signal fires. */
export type ModelCaller = (call: ModelCall) => Promise<ModelCallResult>;
