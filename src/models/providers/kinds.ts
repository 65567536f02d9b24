// The kinds of provider there are: their variables, their addresses and the AI SDK package behind each, loaded when it is first needed.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Fetch } from './bounded-fetch.ts';
import { withCacheMarkers } from './cache.ts';

export type ProviderKind = 'anthropic' | 'openai' | 'google' | 'ollama' | 'openai-compatible';

export interface Connection {
  baseURL: string;
  apiKey: string | undefined;
  fetch: Fetch;
}

export interface Kind {
  /** The variable that conventionally holds the key; null where none is needed. */
  keyVariable: string | null;
  keyRequired: boolean;
  baseVariable: string | null;
  /** Null: an address must be given. */
  defaultBase: string | null;
  version: string;
  connect(connection: Connection): Promise<(modelId: string) => LanguageModelV4>;
  prepare?(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions;
}

/**
 * Parts of a conversation carry the provider's metadata under this name, whichever configured name they came through. Not
 * `openaiCompatible`: what stands under that is written into the messages as fields of their own, which strict servers refuse.
 */
const compatible = 'compatible';

async function connectCompatible({ baseURL, apiKey, fetch }: Connection) {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ name: compatible, baseURL, fetch, includeUsage: true, ...(apiKey === undefined ? {} : { apiKey }) });
}

export const kinds: Record<ProviderKind, Kind> = {
  anthropic: {
    keyVariable: 'ANTHROPIC_API_KEY',
    keyRequired: true,
    baseVariable: 'ANTHROPIC_BASE_URL',
    defaultBase: 'https://api.anthropic.com/v1',
    version: 'v1',
    async connect({ baseURL, apiKey = '', fetch }) {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ baseURL, apiKey, fetch });
    },
    prepare: withCacheMarkers,
  },
  openai: {
    keyVariable: 'OPENAI_API_KEY',
    keyRequired: true,
    baseVariable: 'OPENAI_BASE_URL',
    defaultBase: 'https://api.openai.com/v1',
    version: 'v1',
    async connect({ baseURL, apiKey = '', fetch }) {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ baseURL, apiKey, fetch });
    },
    prepare: withoutStore,
  },
  google: {
    keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    keyRequired: true,
    baseVariable: null,
    defaultBase: 'https://generativelanguage.googleapis.com/v1beta',
    version: 'v1beta',
    async connect({ baseURL, apiKey = '', fetch }) {
      const { createGoogle } = await import('@ai-sdk/google');
      return createGoogle({ baseURL, apiKey, fetch });
    },
  },
  ollama: {
    keyVariable: null,
    keyRequired: false,
    baseVariable: 'OLLAMA_HOST',
    defaultBase: null,
    version: 'v1',
    connect: connectCompatible,
  },
  'openai-compatible': {
    keyVariable: 'RETINUE_API_KEY',
    keyRequired: false,
    baseVariable: 'RETINUE_BASE_URL',
    defaultBase: null,
    version: 'v1',
    connect: connectCompatible,
  },
};

/**
 * OpenAI keeps nothing of a run: reasoning goes back encrypted, as the journal has it, instead of as references to what OpenAI stored.
 * References expire, and a run must go on from its facts alone.
 */
function withoutStore(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const { openai, ...others } = options.providerOptions ?? {};
  return { ...options, providerOptions: { ...others, openai: { store: false, ...openai } } };
}
