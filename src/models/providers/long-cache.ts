// How a provider is asked to keep its prompt cache longer. Google and compatible servers have no such setting in a request.
import type { LongCache } from '../../ports/model.ts';
import type { ProviderKind } from './kinds.ts';

export function findLongCache(kind: ProviderKind, modelId: string): Omit<LongCache, 'price'> | null {
  // `withCacheMarkers` uses it for each of its markers.
  if (kind === 'anthropic')
    return { isOnlyByChoice: false, settings: { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } } } };
  // Up to 24 hours, without another price. OpenAI stores the cached data for that time.
  if (kind === 'openai' && /^gpt-(4\.1|5(\.[0-5])?)(-|$)/.test(modelId) && !/^gpt-5(\.\d)?-(chat|mini|nano)/.test(modelId))
    return { isOnlyByChoice: true, settings: { providerOptions: { openai: { promptCacheRetention: '24h' } } } };
  // Newer models: at least 30 minutes.
  if (kind === 'openai' && /^gpt-(5\.[6-9]|[6-9])/.test(modelId))
    return { isOnlyByChoice: true, settings: { providerOptions: { openai: { promptCacheOptions: { ttl: '30m' } } } } };
  return null;
}
