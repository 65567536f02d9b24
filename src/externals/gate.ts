// The model gate: a server in the provider's own protocol, for one session of an external agent, on a Unix socket that only this user can open.
//
//  1. It serves one path, for requests with the token of this session and the model of the run. Everything else is refused.
//  2. A request reaches the provider only after the run has reserved the budget for it. The key is added outside the gate.
//  3. An answer is withheld, with keep-alives, until it is complete, durable and judged.
//  4. A request that was sent is charged, also if the agent closes the connection or the answer breaks off.
//  5. Closing the gate ends all requests. When it is closed, all that were sent are charged.
import { randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ErrorInfo } from '../contract/error.ts';
import type { ExternalCall, GateAnswer, GateCall, ModelGate } from '../ports/external-agent.ts';
import type { EndpointResponse, ModelEndpoint } from '../ports/model.ts';
import { sha256 } from '../text/canonical.ts';
import { type BodyReader, collectAnswer, createBodyReader, GateRefusal, hasToken, parseEvents, sendJson, sendText } from './gate-io.ts';
import { estimatePartialUsage, estimateUsage } from './gate-usage.ts';
import { asCount, asList, asObject, asText } from './wire/body.ts';
import { chat } from './wire/chat.ts';
import { messages } from './wire/messages.ts';
import { responses } from './wire/responses.ts';
import type { Body, Wire, WireCall } from './wire/types.ts';

export interface GateOptions {
  socket: string;
  endpoint: ModelEndpoint;
  gate: ModelGate;
  /** A call of the model, under Retinue's own tool names. One call may touch several files. */
  mapCall(call: WireCall): ExternalCall[];
  /** Whether the provider's own web search may be used. */
  canSearch: boolean;
  requestMs?: number;
}

export interface GateServer {
  token: string;
  wire: ModelEndpoint['wire'];
  close(): Promise<void>;
}

export const wires: Record<ModelEndpoint['wire'], Wire> = { messages, chat, responses };
const pingMs = 5000;
const maxConnections = 64;
/** How long an agent may take to send a request. */
const requestMs = 60_000;

export async function startGate(options: GateOptions): Promise<GateServer> {
  const token = randomBytes(24).toString('hex');
  const bodies = createBodyReader();
  const wire = wires[options.endpoint.wire];
  const sent = new Set<Promise<unknown>>();
  const { requestMs: limitMs = requestMs } = options;
  const timeouts = { requestTimeout: limitMs, headersTimeout: limitMs, connectionsCheckingInterval: Math.ceil(limitMs / 4) };
  const server = createServer(timeouts, (incoming, response) => {
    serveRequest(incoming, response, { token, bodies, wire, sent }, options).catch((error: unknown) => {
      if (response.headersSent) return void response.destroy();
      const status = error instanceof GateRefusal ? error.status : 400;
      // The rest of a request that is too large is not read.
      if (status === 413) response.once('finish', () => incoming.destroy());
      sendJson(response, status, wire.error(status, (error as Error).message));
    });
  });
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.socket, resolve);
  });
  chmodSync(options.socket, 0o600);
  return {
    token,
    wire: options.endpoint.wire,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await Promise.allSettled(sent);
    },
  };
}

interface GateParts {
  token: string;
  bodies: BodyReader;
  wire: Wire;
  /** Requests whose answer has not ended yet. */
  sent: Set<Promise<unknown>>;
}

async function serveRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
  { token, bodies, wire, sent }: GateParts,
  options: GateOptions,
): Promise<void> {
  const { endpoint, gate, canSearch } = options;
  if (!hasToken(incoming, token)) throw new GateRefusal(401, 'this token is not valid for the model gate');
  const { pathname } = new URL(incoming.url ?? '/', 'http://gate');
  if (incoming.method !== 'POST' || pathname !== wire.path)
    throw new GateRefusal(404, `the model gate does not serve ${incoming.method} ${pathname}`);
  const given = await bodies.read(incoming);
  if (given.model !== endpoint.modelId)
    throw new GateRefusal(404, `the model ${asText(given.model)} is not allowed in this run; it uses ${endpoint.modelId}`);
  const body = wire.restrict(given, canSearch);
  const text = JSON.stringify(body);
  const begun = await gate.begin({
    hash: sha256(text),
    bytes: Buffer.byteLength(text),
    maxOutputTokens: asCount(body.max_tokens ?? body.max_output_tokens ?? body.max_completion_tokens) || null,
    isTurn: asList(body.tools).length > 0,
    results: wire.results(body),
  });
  if (!begun.ok) {
    const refusal = wire.refusal(`Retinue: ${begun.refused}`);
    return sendJson(response, refusal.status, refusal.body);
  }
  await forward({ body, text, incoming, response, wire, sent, call: begun.call }, options);
}

interface ForwardedCall extends Pick<GateParts, 'wire' | 'sent'> {
  body: Body;
  text: string;
  incoming: IncomingMessage;
  response: ServerResponse;
  call: GateCall;
}

async function forward(forwarded: ForwardedCall, { endpoint, mapCall }: GateOptions): Promise<void> {
  const { body, response, wire, call, sent } = forwarded;
  const gone = new AbortController();
  const onClose = () => gone.abort(new Error('the agent closed the connection'));
  response.once('close', onClose);
  // It may have gone while the call waited for its turn.
  if (response.destroyed) onClose();
  const isStream = body.stream === true;
  const pings = createPings(response, wire);
  try {
    const startPings = isStream ? pings.start : () => {};
    const reading = readAnswer(forwarded, { endpoint, mapCall, signal: gone.signal, startPings });
    sent.add(reading);
    const read = await reading.finally(() => sent.delete(reading));
    if (!read) return;
    const { raw, answer } = read;
    const replacement = await call.answered(answer);
    pings.stop();
    if (isStream) response.end(replacement === null ? raw : wire.writeEvents(replacement, endpoint.modelId));
    else if (replacement === null) sendText(response, 200, raw);
    else sendJson(response, 200, wire.writeWhole(replacement, endpoint.modelId));
  } catch (error) {
    if (response.headersSent) response.destroy();
    else sendJson(response, 502, wire.error(502, (error as Error)?.message ?? String(error)));
  } finally {
    pings.stop();
    response.off('close', onClose);
  }
}

interface ReadOptions extends Pick<GateOptions, 'endpoint' | 'mapCall'> {
  signal: AbortSignal;
  /** Called when the provider has accepted the request. */
  startPings(): void;
}

/** The provider's answer; null if it refused the request, which the agent then has been told. If it rejects, the call has failed and is charged. */
async function readAnswer(
  { body, text, incoming, response, wire, call }: ForwardedCall,
  { endpoint, mapCall, signal, startPings }: ReadOptions,
): Promise<{ raw: string; answer: GateAnswer } | null> {
  const chunks: Buffer[] = [];
  let isCharged = false;
  try {
    signal.throwIfAborted();
    const posting = endpoint.post({ body: text, headers: pickHeaders(incoming, wire), signal });
    const answered = await posting.catch((error: unknown) => {
      // The provider may have got a request that is cut off here. One that cannot reach it costs nothing.
      isCharged = signal.aborted;
      throw error;
    });
    if (answered.status >= 300) return await passError(answered, response, { call, clean: endpoint.clean });
    isCharged = true;
    startPings();
    const raw = await collectAnswer(answered, chunks);
    const answer = body.stream === true ? wire.readEvents(parseEvents(raw)) : wire.readWhole(asObject(JSON.parse(raw)));
    if (!answer) throw new Error('the answer of the provider broke off or is not valid');
    const usage = answer.usage ?? estimateUsage(text, raw, answer);
    return { raw, answer: { text: answer.text, finish: answer.finish, calls: answer.calls.flatMap(mapCall), usage } };
  } catch (error) {
    const message = (error as Error)?.message ?? String(error);
    const usage = isCharged ? estimatePartialUsage(wire, { request: text, arrived: chunks, isStream: body.stream === true }) : null;
    call.failed({ error: { code: signal.aborted ? 'cancelled' : 'provider', message, retryable: true }, isLimited: false, usage });
    throw error;
  }
}

/** Keeps the connection of a streamed answer open while it is withheld. */
function createPings(response: ServerResponse, wire: Wire): { start(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      response.write(wire.ping);
      timer = setInterval(() => response.write(wire.ping), pingMs);
    },
    stop: () => clearInterval(timer),
  };
}

/** The agent gets the provider's refusal as it is, and decides whether to try again. */
async function passError(
  answered: EndpointResponse,
  response: ServerResponse,
  { call, clean }: { call: GateCall } & Pick<ModelEndpoint, 'clean'>,
): Promise<null> {
  const raw = clean(await collectAnswer(answered));
  const { status, headers } = answered;
  const message = findMessage(raw) || `the provider answered with status ${status}`;
  const error = { code: codeOf(status), message, retryable: status === 429 || status >= 500 };
  call.failed({ error, isLimited: status === 429 || status === 529, usage: null });
  const retryAfter = headers['retry-after'];
  sendText(response, status, raw, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  return null;
}

function codeOf(status: number): ErrorInfo['code'] {
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate_limited';
  return status < 500 ? 'bad_request' : 'provider';
}

function findMessage(raw: string): string {
  try {
    return asText(asObject(asObject(JSON.parse(raw)).error).message).slice(0, 1000);
  } catch {
    return '';
  }
}

function pickHeaders({ headers }: IncomingMessage, wire: Wire): Record<string, string> {
  return Object.fromEntries(wire.headers.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])));
}
