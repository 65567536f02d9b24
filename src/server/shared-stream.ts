// One stream for many readers that have the same facts. Each event is taken from the API once and each group of events is joined once, so that another reader
// costs one write for each group.
//
// 1. A reader may join only if it has every fact up to `position()` and none after it. It gets everything that follows.
// 2. A reader whose socket still has unsent data at the next group leaves, and learns the position of its last fact.
import type { ServerResponse } from 'node:http';
import type { StreamEvent } from '../api/api.ts';

const maxGroupBytes = 65_536;

export interface SharedStreamOptions {
  open(after: string, signal: AbortSignal): AsyncIterable<StreamEvent>;
  toFrame(event: StreamEvent): Buffer;
  /** How long events are collected before they are sent to this many readers. */
  groupMs(readers: number): number;
}

export interface SharedStream {
  /** The position of the newest fact that was taken; null while the stream is not running. */
  position(): string | null;
  /** Runs the stream from this position on, until the last reader has left. */
  start(position: string): void;
  /** Resolves with the position of the reader's last fact when it has to continue alone; null when the signal fires. */
  join(response: ServerResponse, signal: AbortSignal): Promise<string | null>;
}

export function createSharedStream({ open, toFrame, groupMs }: SharedStreamOptions): SharedStream {
  const members = new Map<ServerResponse, (left: string | null) => void>();
  let run: AbortController | null = null;
  /** `sent`: the position after the last group. */
  let [taken, sent] = ['', ''];
  let frames: Buffer[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | null = null;

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (frames.length === 0) return;
    const group = Buffer.concat(frames);
    frames = [];
    bytes = 0;
    for (const [response, leave] of members) {
      if (response.writableNeedDrain) leave(sent);
      else response.write(group);
    }
    sent = taken;
  }

  async function runFrom(position: string, { signal }: AbortController): Promise<void> {
    try {
      for await (const event of open(position, signal)) {
        if (signal.aborted) return;
        const frame = toFrame(event);
        frames.push(frame);
        bytes += frame.length;
        if (event.type !== 'delta') taken = event.position;
        if (bytes >= maxGroupBytes) flush();
        else timer ??= setTimeout(flush, groupMs(members.size));
      }
    } finally {
      if (!signal.aborted) end();
    }
  }

  /** What was taken and not sent is left to the readers' own streams. */
  function end(): void {
    run?.abort();
    run = null;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    frames = [];
    bytes = 0;
    for (const leave of [...members.values()]) leave(sent);
  }

  return {
    position: () => (run === null ? null : taken),
    start(position) {
      run = new AbortController();
      [taken, sent] = [position, position];
      void runFrom(position, run).catch(() => {});
    },
    join(response, signal) {
      // The others get what this reader has already.
      flush();
      return new Promise((resolve) => {
        const leave = (left: string | null) => {
          members.delete(response);
          signal.removeEventListener('abort', onAbort);
          resolve(left);
          if (members.size === 0 && run !== null) end();
        };
        const onAbort = () => leave(null);
        members.set(response, leave);
        signal.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
}
