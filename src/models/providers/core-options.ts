// The call options that the encoders of wire formats support.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

export type Tools = LanguageModelV4CallOptions['tools'];

const coreOptions = new Set(['prompt', 'maxOutputTokens', 'tools', 'toolChoice', 'abortSignal']);

/** False if a call needs anything besides a conversation, tools and an output limit. */
export function hasOnlyCoreOptions(options: LanguageModelV4CallOptions): boolean {
  for (const name in options) if (!coreOptions.has(name) && options[name as keyof LanguageModelV4CallOptions] !== undefined) return false;
  return true;
}
