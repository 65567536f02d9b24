// One provider server reached in two ways: through our wire format code, and through the AI SDK's packages as the reference.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { onTestFinished } from 'vitest';
import { createModelCaller } from '../../src/models/call.ts';
import { createModels } from '../../src/models/models.ts';
import { createProviders } from '../../src/models/providers.ts';
import type { ModelCallResult, ModelHandle } from '../../src/ports/model.ts';
import { systemClock } from '../../src/system/clock.ts';
import { type ProviderServer, type ProviderServerOptions, startProviderServer } from '../../src/testing/provider-server.ts';
import { envOf, names } from './providers-support.ts';
import { userOf } from './support.ts';

export const formats = [
  { format: 'anthropic', model: names.anthropic },
  { format: 'chat', model: names['openai-compatible'] },
] as const;

export interface Pair {
  own: ModelHandle;
  reference: ModelHandle;
}

/** Passing a `fetch` selects the packages. */
export async function pairAt(url: string, model: string): Promise<Pair> {
  const resolve = (more: object) => createModels({ providers: createProviders({ env: envOf(url), ...more }) }).resolve(model, userOf());
  return { own: await resolve({}), reference: await resolve({ fetch: globalThis.fetch }) };
}

export async function pair(answer: ProviderServerOptions['answer'], model: string): Promise<Pair & { server: ProviderServer }> {
  const server = await startProviderServer({ answer });
  onTestFinished(() => server.close());
  return { server, ...(await pairAt(server.url, model)) };
}

export interface Told {
  result: ModelCallResult;
  deltas: Record<string, string>;
}

export async function call(handle: ModelHandle, options: Partial<LanguageModelV4CallOptions> = {}): Promise<Told> {
  const deltas: Record<string, string> = {};
  const result = await createModelCaller(systemClock)({
    model: handle.model,
    options: { prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }], maxOutputTokens: 100, ...options },
    requestBytes: 300,
    maxToolCalls: 64,
    firstByteMs: 5000,
    idleMs: 5000,
    signal: new AbortController().signal,
    onFirst: () => {},
    onDelta: (kind, text) => {
      deltas[kind] = (deltas[kind] ?? '') + text;
    },
  });
  return { result, deltas };
}

/** What the kernel uses: an answer, or a failure without the package's message. */
export function essence({ result, deltas }: Told): unknown {
  if (result.ok) return { answer: result.answer, deltas };
  const { error, limited, retryAfterMs } = result.failure;
  return { code: error.code, retryable: error.retryable, limited, retryAfterMs, text: result.text };
}

/** A server that answers each request with whatever the listener writes. */
export async function rawServer(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => listener(request, response));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(
    () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
