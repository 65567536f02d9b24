// The kinds of provider there are: their variables, their addresses, and what speaks their wire format: decoders of our own, the AI SDK's
// package, or both. A package is loaded when it is first needed.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Fetch } from './bounded-fetch.ts';
import type { Bounds } from './bounds.ts';
import { withCacheMarkers } from './cache.ts';
import { decodeChat } from './chat/decode.ts';
import { encodeChat } from './chat/encode.ts';
import { decodeMessages } from './messages/decode.ts';
import { encodeMessages } from './messages/encode.ts';
import { type Connected, connectOwn, type Format } from './own.ts';
import { openByStream } from './source.ts';

export type ProviderKind = 'anthropic' | 'openai' | 'google' | 'ollama' | 'openai-compatible';

export interface Connection {
  baseURL: string;
  apiKey: string | undefined;
  fetch: Fetch;
  /** The packages alone: whoever brings a `fetch` wants every request to go through it. */
  packages: boolean;
  bounds: Bounds;
}

export interface Kind {
  /** The variable that conventionally holds the key; null where none is needed. */
  keyVariable: string | null;
  keyRequired: boolean;
  baseVariable: string | null;
  /** Null: an address must be given. */
  defaultBase: string | null;
  version: string;
  connect(connection: Connection): Promise<(modelId: string) => Connected>;
  prepare?(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions;
}

/**
 * Parts of a conversation carry the provider's metadata under this name, whichever configured name they came through. Not
 * `openaiCompatible`: what stands under that is written into the messages as fields of their own, which strict servers refuse.
 */
const compatible = 'compatible';

const chat = (): Format => ({
  path: '/chat/completions',
  headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  encode: encodeChat(compatible),
  decoder: decodeChat(compatible),
});

const messages = (): Format => ({
  path: '/messages',
  headers: (apiKey = '') => ({ 'anthropic-version': '2023-06-01', 'x-api-key': apiKey }),
  encode: encodeMessages,
  decoder: decodeMessages,
});

async function compatiblePackage({ baseURL, apiKey, fetch }: Connection): Promise<PackageModels> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ name: compatible, baseURL, fetch, includeUsage: true, ...(apiKey === undefined ? {} : { apiKey }) });
}

async function anthropicPackage({ baseURL, apiKey = '', fetch }: Connection): Promise<PackageModels> {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  return createAnthropic({ baseURL, apiKey, fetch });
}

type PackageModels = (modelId: string) => LanguageModelV4;

/** Our own decoder with the package behind it, or the package alone. */
function connectWith(format: () => Format, provider: string, load: (connection: Connection) => Promise<PackageModels>): Kind['connect'] {
  return async (connection) => {
    if (connection.packages) return byPackage(await load(connection));
    const behind = async (modelId: string) => (await load(connection))(modelId);
    return connectOwn(format(), { ...connection, provider, behind });
  };
}

function byPackage(models: PackageModels): (modelId: string) => Connected {
  return (modelId) => {
    const model = models(modelId);
    return { model, open: openByStream(model) };
  };
}

export const kinds: Record<ProviderKind, Kind> = {
  anthropic: {
    keyVariable: 'ANTHROPIC_API_KEY',
    keyRequired: true,
    baseVariable: 'ANTHROPIC_BASE_URL',
    defaultBase: 'https://api.anthropic.com/v1',
    version: 'v1',
    connect: connectWith(messages, 'anthropic.messages', anthropicPackage),
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
      return byPackage(createOpenAI({ baseURL, apiKey, fetch }));
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
      return byPackage(createGoogle({ baseURL, apiKey, fetch }));
    },
  },
  ollama: {
    keyVariable: null,
    keyRequired: false,
    baseVariable: 'OLLAMA_HOST',
    defaultBase: null,
    version: 'v1',
    connect: connectWith(chat, `${compatible}.chat`, compatiblePackage),
  },
  'openai-compatible': {
    keyVariable: 'RETINUE_API_KEY',
    keyRequired: false,
    baseVariable: 'RETINUE_BASE_URL',
    defaultBase: null,
    version: 'v1',
    connect: connectWith(chat, `${compatible}.chat`, compatiblePackage),
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
