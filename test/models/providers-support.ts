// A provider server with the five providers connected to it, and single calls through the kernel's model caller.
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import { onTestFinished } from 'vitest';
import type { ContentPart } from '../../src/contract/content.ts';
import { createModelCaller } from '../../src/models/call.ts';
import { createModels } from '../../src/models/models.ts';
import { createProviders, type ProvidersOptions } from '../../src/models/providers.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { ModelCallResult, ModelHandle, Models } from '../../src/ports/model.ts';
import { type ProviderServer, type ProviderServerOptions, startProviderServer } from '../../src/testing/provider-server.ts';
import { startBeatClock } from '../support/beat-clock.ts';
import { userOf } from './support.ts';

export const key = 'key-for-tests-0123456789';

/** A model of each provider; those of the first three have a known price. */
export const names = {
  anthropic: 'anthropic/claude-sonnet-4-5',
  openai: 'openai/gpt-5',
  google: 'google/gemini-2.5-flash',
  ollama: 'ollama/qwen3',
  'openai-compatible': 'openai-compatible/some/model',
} as const;
export type Name = keyof typeof names;
export const all = Object.entries(names).map(([provider, model]) => ({ provider: provider as Name, model }));

export function envOf(url: string): Record<string, string> {
  return {
    ANTHROPIC_API_KEY: key,
    ANTHROPIC_BASE_URL: url,
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: url,
    GOOGLE_GENERATIVE_AI_API_KEY: key,
    OLLAMA_HOST: url,
    RETINUE_BASE_URL: url,
    RETINUE_API_KEY: key,
  };
}

export interface Ground {
  server: ProviderServer;
  models: Models;
  handle(model: string): Promise<ModelHandle>;
}

export async function ground(answer: ProviderServerOptions['answer'], more: Partial<ProvidersOptions> = {}): Promise<Ground> {
  const server = await startProviderServer({ answer });
  onTestFinished(() => server.close());
  // Google has no variable for its address.
  const google = { kind: 'google' as const, baseURL: server.url };
  const providers = createProviders({ env: envOf(server.url), ...more, providers: { google, ...more.providers } });
  const models = createModels({ providers });
  return { server, models, handle: (model) => models.resolve(model, userOf()) };
}

export interface Asked {
  result: ModelCallResult;
  deltas: { kind: string; text: string }[];
}

export const tools: NonNullable<LanguageModelV4CallOptions['tools']> = ['look', 'write'].map((name) => ({
  type: 'function',
  name,
  description: `the tool ${name}`,
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, additionalProperties: false },
}));

export async function ask(
  handle: ModelHandle,
  given: {
    messages?: LanguageModelV4Message[];
    limits?: { firstByteMs?: number; idleMs?: number };
    signal?: AbortSignal;
    clock?: Clock;
  } = {},
): Promise<Asked> {
  const deltas: Asked['deltas'] = [];
  const { clock, stop } = startBeatClock();
  const result = await createModelCaller(given.clock ?? clock)({
    model: handle.model,
    options: {
      prompt: [
        { role: 'system', content: 'You are here to be tested.' },
        ...(given.messages ?? [{ role: 'user', content: [{ type: 'text', text: 'the task' }] }]),
      ],
      ...(handle.maxOutputTokens === null ? {} : { maxOutputTokens: handle.maxOutputTokens }),
      tools,
      toolChoice: { type: 'auto' },
    },
    requestBytes: 300,
    maxToolCalls: 64,
    firstByteMs: given.limits?.firstByteMs ?? 5000,
    idleMs: given.limits?.idleMs ?? 5000,
    signal: given.signal ?? new AbortController().signal,
    onFirst: () => {},
    onDelta: (kind, text) => deltas.push({ kind, text }),
  }).finally(stop);
  return { result, deltas };
}

export async function answer(handle: ModelHandle, given: Parameters<typeof ask>[1] = {}) {
  const { result } = await ask(handle, given);
  if (!result.ok) throw new Error(`${result.failure.error.code}: ${result.failure.error.message}`);
  return result.answer;
}

export const textOf = (content: ContentPart[]) => content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
export const callsOf = (content: ContentPart[]) =>
  content.flatMap((part) =>
    part.type === 'tool-call' ? [{ tool: part.tool, input: JSON.parse(part.input) as unknown, id: part.callId }] : [],
  );
