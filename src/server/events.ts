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

/** With more readers than this, their events are sent in groups: one packet for each event and reader would take most of the time. */
const maxPromptReaders = 20;
const groupMs = 25;
const maxGroupBytes = 32_768;

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
    const group = createGroup(response, () => (readers.size > maxPromptReaders ? groupMs : 0));
    for await (const event of events) {
      if (signal.aborted) return;
      const frame = toFrame(event);
      group.add(frame);
      if (response.writableLength - frame.length > maxBufferedBytes) return cut(response);
      if (!response.writableNeedDrain) continue;
      if (!(await waitForDrain(response, signal))) return cut(response);
    }
    group.flush();
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

/** Writes frames together: those of `delayMs`, or with 0 those of one turn of the event loop. */
function createGroup(response: ServerResponse, delayMs: () => number): { add(frame: Buffer): void; flush(): void } {
  let frames: Buffer[] = [];
  let bytes = 0;
  let timer: NodeJS.Immediate | NodeJS.Timeout | null = null;
  const flush = () => {
    if (timer !== null) clearEither(timer);
    timer = null;
    if (frames.length > 0 && !response.destroyed) response.write(joinFrames(frames));
    frames = [];
    bytes = 0;
  };
  return {
    add(frame) {
      frames.push(frame);
      bytes += frame.length;
      if (bytes >= maxGroupBytes) return flush();
      if (timer !== null) return;
      const ms = delayMs();
      timer = ms === 0 ? setImmediate(flush) : setTimeout(flush, ms);
    },
    flush,
  };
}

function clearEither(timer: NodeJS.Immediate | NodeJS.Timeout): void {
  if ('refresh' in timer) clearTimeout(timer);
  else clearImmediate(timer);
}

/** Readers of the same stream get the same frames, so they share the joined buffer. By its last frame. */
const joined = new WeakMap<Buffer, { frames: Buffer[]; buffer: Buffer }>();

function joinFrames(frames: Buffer[]): Buffer {
  const last = frames.at(-1) as Buffer;
  if (frames.length === 1) return last;
  const known = joined.get(last);
  if (known && known.frames.length === frames.length && known.frames.every((frame, i) => frame === frames[i])) return known.buffer;
  const buffer = Buffer.concat(frames);
  joined.set(last, { frames, buffer });
  return buffer;
}

/** Deltas have no id: they cannot be read again. */
function formatEvent(event: StreamEvent): string {
  if (event.type === 'delta') return `event: delta\ndata: ${stringifySafely(event)}\n\n`;
  if (event.type === 'reset') return `id: ${event.position}\nevent: reset\ndata: ${stringifySafely(event)}\n\n`;
  return `id: ${event.position}\nevent: fact\ndata: ${stringifySafely(factToJson(event))}\n\n`;
}
