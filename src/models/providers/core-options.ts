// The call options that the encoders of wire formats support.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

export type Tools = LanguageModelV4CallOptions['tools'];

const coreOptions = new Set(['prompt', 'maxOutputTokens', 'tools', 'toolChoice', 'abortSignal']);

/** False if a call needs anything besides a conversation, tools, an output limit and `more`. */
export function hasOnlyCoreOptions(options: LanguageModelV4CallOptions, ...more: (keyof LanguageModelV4CallOptions)[]): boolean {
  for (const name in options) {
    const key = name as keyof LanguageModelV4CallOptions;
    if (!coreOptions.has(name) && !more.includes(key) && options[key] !== undefined) return false;
  }
  return true;
}
