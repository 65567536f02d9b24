import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

export type Tools = LanguageModelV4CallOptions['tools'];

const known = new Set(['prompt', 'maxOutputTokens', 'tools', 'toolChoice', 'abortSignal']);

/** Whether a call asks for nothing but what our own encoders can say: a conversation, tools, and how long the answer may be. */
export function isPlain(options: LanguageModelV4CallOptions): boolean {
  for (const name in options) if (!known.has(name) && options[name as keyof LanguageModelV4CallOptions] !== undefined) return false;
  return true;
}
