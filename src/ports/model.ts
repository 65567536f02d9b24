import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Usage } from '../contract/content.ts';
import type { ErrorInfo } from '../contract/error.ts';

/** A model ready for use. One handle of a name serves all runs of a process. */
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

export interface ModelUser {
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
  resolve(name: string, run: ModelUser): Promise<ModelHandle>;
}
