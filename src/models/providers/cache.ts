// Prompt-cache markers. Anthropic caches only up to a marker, and takes four of them; other providers cache by themselves.
import type { LanguageModelV4CallOptions, LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';

/**
 * Marks what stays the same from one request to the next: the tools, the system prompt, and the conversation up to its end, where the
 * marker moves along. The fourth stays where the last request ended, since Anthropic looks back only twenty blocks from a marker and one
 * turn may have more tool results than that. Nothing that was given is changed.
 */
export function withCacheMarkers(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const ends = requestEnds(options.prompt);
  const last = (options.tools?.length ?? 0) - 1;
  return {
    ...options,
    prompt: options.prompt.map((message, index) => (message.role === 'system' || ends.includes(index) ? marked(message) : message)),
    ...(options.tools && {
      tools: options.tools.map((tool, index) => (index === last && tool.type === 'function' ? marked(tool) : tool)),
    }),
  };
}

/** Where this request ends and where the one before it did: after each the model has spoken. */
function requestEnds(prompt: readonly LanguageModelV4Message[]): number[] {
  const ends = prompt.flatMap(({ role }, index) => {
    const next = prompt[index + 1];
    return (role === 'user' || role === 'tool') && (next === undefined || next.role === 'assistant') ? [index] : [];
  });
  return ends.slice(-2);
}

function marked<T extends { providerOptions?: SharedV4ProviderOptions }>(part: T): T {
  const { anthropic, ...others } = part.providerOptions ?? {};
  return { ...part, providerOptions: { ...others, anthropic: { ...anthropic, cacheControl: { type: 'ephemeral' } } } };
}
