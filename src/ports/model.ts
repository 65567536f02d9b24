import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ContentPart, Usage } from '../contract/content.ts';
import type { Effort } from '../contract/effort.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';
import type { ProviderRate } from './shared-limits.ts';
import type { StopSignal } from './stop.ts';

/** A model that is ready to be called. */
export interface ModelHandle {
  id: string;
  /** Calls of the same lane share their back-off. Usually the provider's name. */
  lane: string;
  /** The provider's limits, and how its key is named in a shared store (`LaneAccount`). Absent: nothing is shared. */
  account?: { rate: ProviderRate; identify(hash: (secret: string) => string | null): string | null };
  model: LanguageModelV4;
  contextWindow: number | null;
  maxOutputTokens: number | null;
  price: Price | null;
  /** The settings for this effort. Pure. Absent: the model has no effort setting. */
  planEffort?(effort: Effort): EffortPlan;
  /** Keeps the provider's cache of a request for about an hour instead of minutes. Absent: there is no such choice. */
  longCache?: LongCache | undefined;
  /** It can answer for one run only: children and reviewers of that run get these models instead. */
  modelsForChildren?: string[];
  /** For requests in the provider's own protocol; absent if there is no address, as for scripts. */
  endpoint?: ModelEndpoint | undefined;
  /** Called when a run is about to complete. A scripted model returns an error if it has steps left over. */
  finished?(runId: string): ErrorInfo | null;
}

/**
 * The cost of a call in USD; null if the price is unknown, never 0. `written`: tokens of the input that the provider wrote into its cache; if it is not given, the
 * result is an upper bound.
 */
export type Price = (usage: Usage, written?: number | null) => number | null;

/** Settings of a call besides the conversation. They are added to its options. */
export type CallSettings = Pick<LanguageModelV4CallOptions, 'reasoning' | 'providerOptions'>;

/** `note`: the effort that is used instead, if the model does not have exactly the wanted one. `why`: the end of a sentence about the model. */
export type EffortPlan = { ok: true; settings: CallSettings; thinking: Thinking; note: string | null } | { ok: false; why: string };

/** About how much a model may think in a call. `isExtra`: the provider's limit of the output does not include it. */
export interface Thinking {
  tokens: number;
  isExtra: boolean;
}

export const noThinking: Thinking = { tokens: 0, isExtra: false };

export interface LongCache {
  settings: CallSettings;
  price: Price | null;
  /** Used only if the configuration says so, because the provider stores more. */
  isOnlyByChoice: boolean;
}

/** The server of a model. Requests are sent as they are, with the key added. */
export interface ModelEndpoint {
  wire: 'messages' | 'responses' | 'chat';
  /** The name of the model in requests. */
  modelId: string;
  /** Replaces the key in a text of the server, which may repeat it in a refusal. */
  clean(text: string): string;
  /** Rejects if the server cannot be reached. A refusal is a response. */
  post(request: { body: string; headers: Record<string, string>; signal: AbortSignal }): Promise<EndpointResponse>;
}

export interface EndpointResponse {
  status: number;
  headers: Record<string, string>;
  /** Passes on every chunk of the body. Rejects if it breaks off or `take` throws. */
  read(take: (chunk: Buffer) => void): Promise<void>;
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
  /** Tokens of the input that were written into the provider's cache; null if it does not say. */
  written?: number | null;
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
  /** Given if deltas are not read: the answer may come in one piece, within this time. Some models make that cheaper. */
  onePieceMs?: number | undefined;
  signal: StopSignal;
  /** Called when the first event of the answer arrives. */
  onFirst(): void;
  onDelta(kind: 'text' | 'reasoning' | 'tool', text: string): void;
}

/** Makes one call, without retrying. Never rejects, and ends soon after its signal fires. */
export type ModelCaller = (call: ModelCall) => Promise<ModelCallResult>;
