// The event stream (Server-Sent Events). A reader that is slow or gone costs nothing: it is written to only while its socket takes data, and cut
// when the socket stays blocked. Each event is serialized once for all readers.
import type { ServerResponse } from 'node:http';
import type { Api, StreamEvent } from '../api/api.ts';
import { stringifySafely } from '../text/terminal.ts';
import { factToJson } from '../views/json.ts';
import { securityHeaders } from './headers.ts';
import { createSharedStream, type SharedStream } from './shared-stream.ts';

export interface EventHubOptions {
  /** Comments that keep proxies from closing a quiet stream. */
  heartbeatMs?: number;
  /** A reader whose socket takes nothing for this long is cut. */
  maxBlockedMs?: number;
  /** A reader with more unsent bytes is cut. One event may be larger. */
  maxBufferedBytes?: number;
  /** Open streams in all. */
  maxReaders?: number;
  /** Open streams of one principal. */
  maxReadersOfPrincipal?: number;
}

/** Events of one tree or of all trees. */
export interface EventSource {
  api: Pick<Api, 'stream'>;
  tree?: string | undefined;
  /** The position of the reader's last fact. */
  after?: string | undefined;
  principalId: string;
}

export interface EventHub {
  /** Whether another stream of this principal may be opened. */
  hasRoom(principalId: string): boolean;
  /** Sends events until the reader leaves, is cut, or the hub closes. */
  send(response: ServerResponse, source: EventSource): Promise<void>;
  readers(): number;
  /** How many readers were cut because they were slow. */
  cuts(): number;
  /** Ends all streams. */
  close(): void;
}

/** With more readers of the same events than this, one stream serves them all, and events are sent in groups. */
const maxSeparateReaders = 20;
/** Each group is one write for each reader, so more readers get fewer groups: at most 8,000 writes a second for up to 800 readers. */
const groupMs = (readers: number) => Math.min(100, Math.max(25, readers / 8));
const maxBatchBytes = 32_768;

interface Reader {
  response: ServerResponse;
  stop: AbortController;
  principalId: string;
}

interface SharedSource {
  readers: number;
  stream: SharedStream;
}

const heartbeat = Buffer.from(': heartbeat\n\n');

export function createEventHub({
  heartbeatMs = 15_000,
  maxBlockedMs = 30_000,
  maxBufferedBytes = 1_048_576,
  maxReaders = 2_000,
  maxReadersOfPrincipal = 1_000,
}: EventHubOptions = {}): EventHub {
  const readers = new Set<Reader>();
  const frames = new WeakMap<object, Buffer>();
  const shared = new WeakMap<object, Map<string, SharedSource>>();
  let timer: NodeJS.Timeout | null = null;
  let cutCount = 0;

  function toFrame(event: StreamEvent): Buffer {
    const known = frames.get(event);
    if (known !== undefined) return known;
    const frame = Buffer.from(formatEvent(event));
    frames.set(event, frame);
    return frame;
  }

  function beat(): void {
    for (const { response } of readers) if (!response.writableNeedDrain) response.write(heartbeat);
  }

  /** Resolves when the socket takes data again; false if it stays blocked for too long. */
  function waitForDrain(response: ServerResponse, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isOpen: boolean) => {
        clearTimeout(limit);
        response.off('drain', onDrain);
        signal.removeEventListener('abort', onDrain);
        resolve(isOpen);
      };
      const onDrain = () => end(true);
      const limit = setTimeout(() => end(false), maxBlockedMs);
      response.on('drain', onDrain);
      signal.addEventListener('abort', onDrain, { once: true });
    });
  }

  /** What readers of the same events share. Counts the reader until `leave` is called. */
  function enterSource({ api, tree }: EventSource): SharedSource & { leave(): void } {
    const sources = shared.get(api) ?? new Map<string, SharedSource>();
    shared.set(api, sources);
    const key = tree ?? '';
    const open = (after: string, signal: AbortSignal) => api.stream({ ...(tree === undefined ? {} : { tree }), after, signal });
    const source = sources.get(key) ?? { readers: 0, stream: createSharedStream({ open, toFrame, groupMs }) };
    sources.set(key, source);
    source.readers++;
    return {
      stream: source.stream,
      get readers() {
        return source.readers;
      },
      leave: () => void (--source.readers === 0 && sources.delete(key)),
    };
  }

  async function sendAll(reader: Reader, source: EventSource, common: SharedSource): Promise<void> {
    const { response, stop } = reader;
    for (let after = source.after; ; ) {
      const live = common.stream.position();
      const hasAll = live !== null && (after === live || (after === undefined && source.tree === undefined));
      const left = hasAll ? await common.stream.join(response, stop.signal) : await sendSeparately(reader, { ...source, after }, common);
      if (left === null) return;
      if (response.writableNeedDrain && !(await waitForDrain(response, stop.signal))) return cut(response);
      after = left;
    }
  }

  /** Sends from the reader's own stream until it can use the shared one, and from that until it has to leave it. Null: the end. */
  async function sendSeparately(
    { response, stop }: Reader,
    { api, tree, after }: EventSource,
    common: SharedSource,
  ): Promise<string | null> {
    const own = new AbortController();
    const signal = AbortSignal.any([own.signal, stop.signal]);
    const batch = createBatch(response);
    let joined: Promise<string | null> | null = null;
    for await (const event of api.stream({ ...withoutUndefined({ tree, after }), signal })) {
      if (signal.aborted) return null;
      const frame = toFrame(event);
      batch.add(frame);
      if (event.type !== 'delta' && common.readers > maxSeparateReaders) {
        if (common.stream.position() === null) common.stream.start(event.position);
        if (common.stream.position() === event.position) {
          batch.flush();
          joined = common.stream.join(response, stop.signal);
          break;
        }
      }
      if (response.writableLength - frame.length > maxBufferedBytes) {
        cut(response);
        return null;
      }
      if (response.writableNeedDrain && !(await waitForDrain(response, signal))) {
        cut(response);
        return null;
      }
    }
    own.abort();
    batch.flush();
    return joined;
  }

  function cut(response: ServerResponse): void {
    cutCount++;
    response.destroy();
  }

  return {
    hasRoom(principalId) {
      if (readers.size >= maxReaders) return false;
      let own = 0;
      for (const reader of readers) if (reader.principalId === principalId) own++;
      return own < maxReadersOfPrincipal;
    },
    async send(response, source) {
      const stop = new AbortController();
      const reader = { response, stop, principalId: source.principalId };
      const common = enterSource(source);
      readers.add(reader);
      timer ??= setInterval(beat, heartbeatMs);
      response.once('close', () => stop.abort());
      response.on('error', () => stop.abort());
      response.writeHead(200, {
        ...securityHeaders,
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      });
      response.write('retry: 1000\n\n');
      try {
        await sendAll(reader, source, common);
        response.end();
      } catch {
        // The reader comes back with its last position.
        response.destroy();
      } finally {
        stop.abort();
        common.leave();
        readers.delete(reader);
        if (readers.size === 0 && timer !== null) {
          clearInterval(timer);
          timer = null;
        }
      }
    },
    readers: () => readers.size,
    cuts: () => cutCount,
    close() {
      for (const { stop } of readers) stop.abort();
    },
  };
}

/** Joins what is added in one turn of the event loop into one write. */
function createBatch(response: ServerResponse): { add(frame: Buffer): void; flush(): void } {
  let frames: Buffer[] = [];
  let bytes = 0;
  const flush = () => {
    const [first] = frames;
    if (first !== undefined && !response.destroyed) response.write(frames.length === 1 ? first : Buffer.concat(frames));
    frames = [];
    bytes = 0;
  };
  return {
    add(frame) {
      if (frames.length === 0) setImmediate(flush);
      frames.push(frame);
      bytes += frame.length;
      if (bytes >= maxBatchBytes) flush();
    },
    flush,
  };
}

function withoutUndefined(options: Pick<EventSource, 'tree' | 'after'>): { tree?: string; after?: string } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Deltas have no id: they cannot be read again. */
function formatEvent(event: StreamEvent): string {
  if (event.type === 'delta') return `event: delta\ndata: ${stringifySafely(event)}\n\n`;
  if (event.type === 'reset') return `id: ${event.position}\nevent: reset\ndata: ${stringifySafely(event)}\n\n`;
  return `id: ${event.position}\nevent: fact\ndata: ${stringifySafely(factToJson(event))}\n\n`;
}
