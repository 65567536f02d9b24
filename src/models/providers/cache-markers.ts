// Prompt-cache markers for Anthropic, which caches input up to a marker and accepts four of them. Other providers cache automatically.
import type { LanguageModelV4CallOptions, LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';

/**
 * Marks the tools, the system prompt, the end of the conversation, and the end of the previous request. The last one is needed because Anthropic
 * looks back only twenty blocks from a marker, and one turn may have more tool results. The input is not modified.
 */
export function withCacheMarkers(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const ends = findRequestEnds(options.prompt);
  const last = (options.tools?.length ?? 0) - 1;
  return {
    ...options,
    prompt: options.prompt.map((message, index) => (message.role === 'system' || ends.includes(index) ? addMarker(message) : message)),
    ...(options.tools && {
      tools: options.tools.map((tool, index) => (index === last && tool.type === 'function' ? addMarker(tool) : tool)),
    }),
  };
}

/** The last message of this request and of the previous one, which an answer follows. */
function findRequestEnds(prompt: readonly LanguageModelV4Message[]): number[] {
  const ends = prompt.flatMap(({ role }, index) => {
    const next = prompt[index + 1];
    return (role === 'user' || role === 'tool') && (next === undefined || next.role === 'assistant') ? [index] : [];
  });
  return ends.slice(-2);
}

function addMarker<T extends { providerOptions?: SharedV4ProviderOptions }>(part: T): T {
  const { anthropic, ...others } = part.providerOptions ?? {};
  return { ...part, providerOptions: { ...others, anthropic: { ...anthropic, cacheControl: { type: 'ephemeral' } } } };
}
