// The event stream of a server over any number of connections.
//
// 1. Each fact after the start comes exactly once, in the server's order. A new connection continues after the last event that was delivered;
//    an event that was cut off in the middle is dropped and comes again.
// 2. `reset` is passed on, and the stream continues after its position.
// 3. A connection that is silent for longer than two heartbeats counts as dead.
// 4. Only an answer that will not change, such as a refused token, ends the stream with an error. Everything else is tried again.
import type { StreamEvent } from '../api/api.ts';
import { isRemoteError, RemoteError } from './error.ts';
import { notRetinueError, type Requester } from './request.ts';
import { createSseParser, type SseMessage } from './sse.ts';

/** `waiting`: the next attempt begins after `retryMs`. `reason` says why the last connection ended. */
export type ConnectionState = { state: 'connecting' } | { state: 'open' } | { state: 'waiting'; retryMs: number; reason: string };

export interface EventStreamOptions {
  /** A run; only the events of its tree. */
  tree?: string | undefined;
  /** Only facts after this position. Default: the tree from its first fact; without a tree, facts from now on. */
  after?: string | undefined;
  /** Ends the stream without an error. */
  signal?: AbortSignal | undefined;
  onConnection?: ((state: ConnectionState) => void) | undefined;
}

export interface ReconnectOptions {
  /** The wait before the first new attempt (default: 250). It doubles with each failure. */
  minMs?: number;
  /** The longest wait (default: 10,000). */
  maxMs?: number;
  /** A connection without a byte for this long is dead (default: 40,000). The server sends a heartbeat every 15 seconds. */
  silenceMs?: number;
}

export interface EventStreamDeps {
  request: Requester;
  /** The position of the newest fact. */
  position(signal: AbortSignal): Promise<string>;
  reconnect: ReconnectOptions;
}

export async function* readEventStream(
  options: EventStreamOptions,
  { request, position, reconnect }: EventStreamDeps,
): AsyncGenerator<StreamEvent> {
  const { minMs = 250, maxMs = 10_000, silenceMs = 40_000 } = reconnect;
  const { tree } = options;
  const report = options.onConnection ?? (() => {});
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  let cursor = options.after;
  let failures = 0;
  let reason = '';
  let askedMs: number | null = null;
  try {
    while (!signal.aborted) {
      try {
        report({ state: 'connecting' });
        // Without a start position, facts between the first connection and the second would be lost.
        if (cursor === undefined && tree === undefined) cursor = await position(signal);
        const response = await request.open('api/events', {
          query: { tree },
          headers: { accept: 'text/event-stream', ...(cursor === undefined ? {} : { 'last-event-id': cursor }) },
          signal,
        });
        if (!isEventStream(response)) throw notRetinueError(response, request.url);
        report({ state: 'open' });
        const messages = readMessages(response, { silenceMs, onBytes: () => (failures = 0), onRetry: (ms) => (askedMs = ms) });
        for await (const message of messages) {
          const event = readSafely(() => messageToEvent(message));
          cursor = message.id ?? (event?.type === 'reset' ? event.position : cursor);
          if (event) yield event;
          if (signal.aborted) return;
        }
        reason = 'the server ended the connection';
      } catch (error) {
        if (signal.aborted) return;
        if (isRemoteError(error) && !error.retryable) throw error;
        reason = describeEnd(error);
      }
      const longest = Math.min(maxMs, Math.max(minMs, askedMs ?? 0) * 2 ** failures++);
      // Many clients of one server must not all come back at the same moment.
      const retryMs = Math.round(longest * (0.5 + Math.random() / 2));
      report({ state: 'waiting', retryMs, reason });
      await sleep(retryMs, signal);
    }
  } finally {
    stop.abort();
  }
}

/** Node and browsers report a cut in words of their own. */
function describeEnd(error: unknown): string {
  return isRemoteError(error) ? error.message : 'the connection was cut';
}

function isEventStream(response: Response): boolean {
  return /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '') && response.body !== null;
}

interface ReadOptions {
  silenceMs: number;
  onBytes(): void;
  onRetry(ms: number): void;
}

/** The messages of one connection. Throws if it breaks or is silent for too long. The silence is measured only while somebody waits for a message. */
async function* readMessages(response: Response, { silenceMs, onBytes, onRetry }: ReadOptions): AsyncGenerator<SseMessage> {
  const parser = createSseParser();
  const decoder = new TextDecoder();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await withTimeout(reader.read(), silenceMs);
      if (done) return;
      onBytes();
      const messages = readSafely(() => parser.push(decoder.decode(value, { stream: true })));
      const retryMs = parser.retryMs();
      if (retryMs !== null) onRetry(retryMs);
      yield* messages;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** What cannot be read now cannot be read on the next connection either. */
function readSafely<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new RemoteError('not_retinue', `the server sent an event that cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RemoteError('unreachable', 'the server has sent nothing for too long', { retryable: true })), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Null for an event that this version does not know. A fact gets its position from the id of the event. */
function messageToEvent({ id, event, data }: SseMessage): StreamEvent | null {
  if (event === 'fact') return { ...JSON.parse(data), ...(id === null ? {} : { position: id }) };
  if (event === 'delta') return { type: 'delta', ...JSON.parse(data) };
  if (event === 'reset') return { type: 'reset', ...(id === null ? {} : { position: id }), ...JSON.parse(data) };
  return null;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
