/**
 * A model provider for tests: an HTTP server on loopback with the wire formats of Anthropic (Messages), OpenAI (Responses and Chat
 * Completions), compatible servers (also Ollama: `/v1` and `/api/tags`) and Google (generateContent), streamed and not. It answers as a
 * scenario says and can fail in the ways in which providers fail.
 *
 *     const server = await startProviderServer({ answer: [{ fault: { kind: 'status', status: 529 } }, { text: 'Hello.' }] });
 *     const env = { ANTHROPIC_API_KEY: 'any', ANTHROPIC_BASE_URL: server.url };
 *     …
 *     server.requests[0].body;      // the request that was sent
 *     await server.close();
 *
 *  1. `answer` is a list with one step per model call in order of arrival, or a function of the request. A call past the end of the list gets
 *     status 400, which clients do not retry.
 *  2. Every model call is recorded in `requests`, including headers with keys, before it is answered.
 *  3. `close` ends open connections and leaves nothing behind.
 *
 * It does not check keys, count tokens or know models. Answers contain what the AI SDK's providers read, not everything that the real
 * provider sends.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAnswer } from './provider-server/answer.ts';
import { anthropic } from './provider-server/anthropic.ts';
import { google } from './provider-server/google.ts';
import { openaiChat } from './provider-server/openai-chat.ts';
import { openaiResponses } from './provider-server/openai-responses.ts';
import { sendAnswer } from './provider-server/send.ts';
import type { ProviderRequest, ProviderStep, Wire, WireName } from './provider-server/types.ts';

export type { Fault, ProviderRequest, ProviderStep, StepCall, StepUsage, WireName } from './provider-server/types.ts';

export type Scenario = (request: ProviderRequest) => ProviderStep | Promise<ProviderStep>;

export interface ProviderServerOptions {
  answer: Scenario | readonly ProviderStep[];
  /** The models that `/api/tags` and `/models` list. */
  models?: readonly string[];
}

export interface ProviderServer {
  /** `http://127.0.0.1:<port>`: the base URL for every provider, with or without `/v1`. */
  url: string;
  requests: ProviderRequest[];
  close(): Promise<void>;
}

const maxBodyBytes = 64 * 1024 * 1024;
const wires: Record<WireName, Wire> = { anthropic, openai: openaiResponses, 'openai-compatible': openaiChat, google };

export async function startProviderServer({ answer, models = [] }: ProviderServerOptions): Promise<ProviderServer> {
  const scenario = typeof answer === 'function' ? answer : playInOrder(answer);
  const requests: ProviderRequest[] = [];

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = incoming.url ?? '/';
    const call = parseCall(path);
    if (incoming.method !== 'POST' || call === null) return sendModelList(path, response, models);
    const body = (await readBody(incoming)) as Record<string, unknown>;
    const request: ProviderRequest = {
      provider: call.provider,
      method: 'POST',
      path,
      headers: readHeaders(incoming),
      body,
      model: call.model ?? String(body.model ?? ''),
      streamed: call.streamed ?? body.stream === true,
      n: requests.length + 1,
      aborted: false,
    };
    requests.push(request);
    response.once('close', () => {
      request.aborted = !response.writableFinished;
    });
    const step = await scenario(request);
    await sendAnswer(response, wires[call.provider], { step, answer: createAnswer(step, request), streamed: request.streamed });
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: String(error) } }));
    });
  });
  server.on('connection', (socket) => socket.setNoDelay(true));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function playInOrder(steps: readonly ProviderStep[]): Scenario {
  return ({ n }) => steps[n - 1] ?? { fault: { kind: 'status', status: 400, message: `the scenario has no step for call ${n}` } };
}

interface Call {
  provider: WireName;
  /** Set if the path says so rather than the body. */
  model?: string;
  streamed?: boolean;
}

function parseCall(path: string): Call | null {
  const { pathname } = new URL(path, 'http://127.0.0.1');
  if (pathname.endsWith('/chat/completions')) return { provider: 'openai-compatible' };
  if (pathname.endsWith('/responses')) return { provider: 'openai' };
  if (pathname.endsWith('/messages')) return { provider: 'anthropic' };
  const [, model, method] = /\/models\/([^:]+):(generateContent|streamGenerateContent)$/.exec(pathname) ?? [];
  return model === undefined ? null : { provider: 'google', model, streamed: method === 'streamGenerateContent' };
}

function sendModelList(path: string, response: ServerResponse, models: readonly string[]): void {
  const { pathname } = new URL(path, 'http://127.0.0.1');
  const tags = { models: models.map((name) => ({ name, model: name })) };
  const found = pathname.endsWith('/api/tags') ? tags : pathname.endsWith('/models') ? { data: models.map((id) => ({ id })) } : null;
  response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify(found ?? { error: { message: `unknown path ${pathname}` } }));
}

async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxBodyBytes) throw new Error(`the request has more than ${maxBodyBytes} bytes`);
    chunks.push(chunk as Buffer);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

function readHeaders(incoming: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
}
