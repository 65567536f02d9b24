// The event stream (Server-Sent Events). A reader that is slow or gone costs nothing: it is written to only while its socket takes data, and cut
// when the socket stays blocked. Each event is serialized once for all readers.
import type { ServerResponse } from 'node:http';
import type { StreamEvent } from '../api/api.ts';
import { stringifySafely } from '../text/terminal.ts';
import { factToJson } from '../views/json.ts';
import { securityHeaders } from './headers.ts';

export interface EventHubOptions {
  /** Comments that keep proxies from closing a quiet stream. */
  heartbeatMs?: number;
  /** A reader whose socket takes nothing for this long is cut. */
  maxBlockedMs?: number;
  /** A reader with more unsent bytes is cut. One event may be larger. */
  maxBufferedBytes?: number;
}

export interface EventHub {
  /** Sends events until the reader leaves, is cut, or the hub closes. */
  send(response: ServerResponse, open: (signal: AbortSignal) => AsyncIterable<StreamEvent>): Promise<void>;
  readers(): number;
  /** How many readers were cut because they were slow. */
  cuts(): number;
  /** Ends all streams. */
  close(): void;
}

const heartbeat = Buffer.from(': heartbeat\n\n');

export function createEventHub({
  heartbeatMs = 15_000,
  maxBlockedMs = 30_000,
  maxBufferedBytes = 1_048_576,
}: EventHubOptions = {}): EventHub {
  const readers = new Set<{ response: ServerResponse; stop: AbortController }>();
  const frames = new WeakMap<object, Buffer>();
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

  async function sendAll(response: ServerResponse, events: AsyncIterable<StreamEvent>, signal: AbortSignal): Promise<void> {
    const batch = createBatch(response);
    for await (const event of events) {
      if (signal.aborted) return;
      const frame = toFrame(event);
      batch.write(frame);
      if (response.writableLength - frame.length > maxBufferedBytes) return cut(response);
      if (!response.writableNeedDrain) continue;
      batch.flush();
      if (response.writableNeedDrain && !(await waitForDrain(response, signal))) return cut(response);
    }
  }

  function cut(response: ServerResponse): void {
    cutCount++;
    response.destroy();
  }

  return {
    async send(response, open) {
      const stop = new AbortController();
      const reader = { response, stop };
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
        await sendAll(response, open(stop.signal), stop.signal);
        response.end();
      } catch {
        // The reader comes back with its last position.
        response.destroy();
      } finally {
        stop.abort();
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

/** Joins what is written in one turn of the event loop into one packet. */
function createBatch(response: ServerResponse): { write(frame: Buffer): void; flush(): void } {
  let isCorked = false;
  const flush = () => {
    if (!isCorked) return;
    isCorked = false;
    response.uncork();
  };
  return {
    write(frame) {
      if (!isCorked) {
        isCorked = true;
        response.cork();
        setImmediate(flush);
      }
      response.write(frame);
    },
    flush,
  };
}

/** Deltas have no id: they cannot be read again. */
function formatEvent(event: StreamEvent): string {
  if (event.type === 'delta') return `event: delta\ndata: ${stringifySafely(event)}\n\n`;
  if (event.type === 'reset') return `id: ${event.position}\nevent: reset\ndata: ${stringifySafely(event)}\n\n`;
  return `id: ${event.position}\nevent: fact\ndata: ${stringifySafely(factToJson(event))}\n\n`;
}
