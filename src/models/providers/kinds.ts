// The kinds of providers: their variables, their addresses, and how to connect them: through our own wire format code, the AI SDK's package,
// or both. Packages are loaded on demand.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { sha256 } from '../../text/canonical.ts';
import type { Fetch } from './bounded-fetch.ts';
import type { Bounds } from './bounds.ts';
import { withCacheMarkers } from './cache-markers.ts';
import { createChatDecoder } from './chat/decode.ts';
import { createChatEncoder } from './chat/encode.ts';
import { createMessagesDecoder } from './messages/decode.ts';
import { encodeMessages } from './messages/encode.ts';
import { type ConnectedModel, connectWire, type WireFormat } from './wire-model.ts';

export type ProviderKind = 'anthropic' | 'openai' | 'google' | 'ollama' | 'openai-compatible';

export interface ProviderConnection {
  baseURL: string;
  apiKey: string | undefined;
  fetch: Fetch;
  /** Use packages only: a caller who passes a `fetch` wants every request to use it. */
  packagesOnly: boolean;
  bounds: Bounds;
}

export interface ProviderDefinition {
  /** The usual variable for the key; null if no key is needed. */
  keyVariable: string | null;
  keyRequired: boolean;
  baseVariable: string | null;
  /** Null if the user must set an address. */
  defaultBase: string | null;
  version: string;
  connect(connection: ProviderConnection): Promise<(modelId: string) => ConnectedModel>;
  prepare?(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions;
}

/**
 * The key of provider metadata in conversations, for all providers of this kind. Not `openaiCompatible`, because the package writes metadata
 * under that key into the messages, and strict servers reject it.
 */
const compatibleName = 'compatible';

const createChatFormat = (): WireFormat => ({
  path: '/chat/completions',
  headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  encode: createChatEncoder(compatibleName),
  createDecoder: createChatDecoder(compatibleName),
});

const createMessagesFormat = (): WireFormat => ({
  path: '/messages',
  headers: (apiKey = '') => ({ 'anthropic-version': '2023-06-01', 'x-api-key': apiKey }),
  encode: encodeMessages,
  createDecoder: createMessagesDecoder,
});

async function loadCompatiblePackage({ baseURL, apiKey, fetch }: ProviderConnection): Promise<PackageModels> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ name: compatibleName, baseURL, fetch, includeUsage: true, ...(apiKey === undefined ? {} : { apiKey }) });
}

async function loadAnthropicPackage({ baseURL, apiKey = '', fetch }: ProviderConnection): Promise<PackageModels> {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  return createAnthropic({ baseURL, apiKey, fetch });
}

type PackageModels = (modelId: string) => LanguageModelV4;

/** Our own wire format code with the package as fallback, or the package alone. */
function connectWireOrPackage(
  format: () => WireFormat,
  provider: string,
  load: (connection: ProviderConnection) => Promise<PackageModels>,
): ProviderDefinition['connect'] {
  return async (connection) => {
    if (connection.packagesOnly) return connectPackage(await load(connection));
    const loadPackageModel = async (modelId: string) => (await load(connection))(modelId);
    return connectWire(format(), { ...connection, provider, loadPackageModel });
  };
}

function connectPackage(models: PackageModels): (modelId: string) => ConnectedModel {
  return (modelId) => {
    return { model: models(modelId) };
  };
}

export const providerKinds: Record<ProviderKind, ProviderDefinition> = {
  anthropic: {
    keyVariable: 'ANTHROPIC_API_KEY',
    keyRequired: true,
    baseVariable: 'ANTHROPIC_BASE_URL',
    defaultBase: 'https://api.anthropic.com/v1',
    version: 'v1',
    connect: connectWireOrPackage(createMessagesFormat, 'anthropic.messages', loadAnthropicPackage),
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
      return connectPackage(createOpenAI({ baseURL, apiKey, fetch }));
    },
    prepare: withOpenAiOptions,
  },
  google: {
    keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    keyRequired: true,
    baseVariable: null,
    defaultBase: 'https://generativelanguage.googleapis.com/v1beta',
    version: 'v1beta',
    async connect({ baseURL, apiKey = '', fetch }) {
      const { createGoogle } = await import('@ai-sdk/google');
      return connectPackage(createGoogle({ baseURL, apiKey, fetch }));
    },
  },
  ollama: {
    keyVariable: null,
    keyRequired: false,
    baseVariable: 'OLLAMA_HOST',
    defaultBase: null,
    version: 'v1',
    connect: connectWireOrPackage(createChatFormat, `${compatibleName}.chat`, loadCompatiblePackage),
  },
  'openai-compatible': {
    keyVariable: 'RETINUE_API_KEY',
    keyRequired: false,
    baseVariable: 'RETINUE_BASE_URL',
    defaultBase: null,
    version: 'v1',
    connect: connectWireOrPackage(createChatFormat, `${compatibleName}.chat`, loadCompatiblePackage),
  },
};

/**
 * The cache key is the same for all requests of a run, so that they reach a server that has their beginning in its cache: the system prompt and the first message
 * never change. OpenAI stores nothing: reasoning is sent back encrypted, as it was recorded, instead of as references. References expire, but a run must be
 * able to continue from its facts alone.
 */
function withOpenAiOptions(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const { openai, ...others } = options.providerOptions ?? {};
  return { ...options, providerOptions: { ...others, openai: { promptCacheKey: findCacheKey(options.prompt), store: false, ...openai } } };
}

const cacheKeys = new WeakMap<object, string>();

/** Messages stay the same objects from one request to the next, so the key is computed once. */
function findCacheKey(prompt: LanguageModelV4CallOptions['prompt']): string {
  const second = prompt[1] ?? prompt;
  const known = cacheKeys.get(second) ?? sha256(JSON.stringify(prompt.slice(0, 2))).slice(0, 32);
  cacheKeys.set(second, known);
  return known;
}
