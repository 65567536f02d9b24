// Prompt-cache markers for Anthropic, which caches input up to a marker and accepts four of them. Other providers cache automatically.
import type { LanguageModelV4CallOptions, LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';

/**
 * Marks the tools, the system prompt, the end of the conversation, and the end of the previous request. The last one is needed because Anthropic
 * looks back only twenty blocks from a marker, and one turn may have more tool results. A `cacheControl` of the call itself is used for all four. The input is not
 * modified.
 */
export function withCacheMarkers(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const ends = findRequestEnds(options.prompt);
  const last = (options.tools?.length ?? 0) - 1;
  const { marker, ...rest } = takeMarker(options);
  const addMarker = <T extends Marked>(part: T): T => ({ ...part, providerOptions: addOption(part.providerOptions, marker) });
  return {
    ...rest,
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

type Marked = { providerOptions?: SharedV4ProviderOptions };
type Marker = NonNullable<SharedV4ProviderOptions[string]>[string];

const shortMarker: Marker = { type: 'ephemeral' };

/** Anthropic would place a marker of its own for that of the call, so it is taken out. */
function takeMarker(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions & { marker: Marker } {
  const { anthropic, ...others } = options.providerOptions ?? {};
  if (anthropic?.cacheControl === undefined) return { ...options, marker: shortMarker };
  const { cacheControl, ...own } = anthropic;
  const kept = Object.keys(own).length > 0 ? { ...others, anthropic: own } : others;
  const { providerOptions: _, ...rest } = options;
  return { ...rest, ...(Object.keys(kept).length > 0 && { providerOptions: kept }), marker: cacheControl };
}

function addOption(given: SharedV4ProviderOptions | undefined, cacheControl: Marker): SharedV4ProviderOptions {
  const { anthropic, ...others } = given ?? {};
  return { ...others, anthropic: { ...anthropic, cacheControl } };
}
