// Live pieces of streams between processes, by notifications. A subscriber announces itself now and then; only then do the processes that drive
// runs send anything: their pieces, and that there are new facts. Best effort: without it a reader still sees every fact, at the next poll.
//
// A payload is the JSON of a `Payload`. The database may be shared with others, so everything else is ignored.
import { randomBytes } from 'node:crypto';
import type { Delta } from '../../contract/delta.ts';
import { readDelta } from '../live-delta.ts';
import type { Timing } from './options.ts';
import type { Session } from './session.ts';

/** A notification holds less than 8,000 bytes. */
const maxPayloadBytes = 7_900;
/** Room for the rest of a payload. */
const maxDeltaBytes = 7_500;
/** What waits to be sent at once, at most. More is dropped. */
const maxWaitingBytes = 256 * 1024;

interface Payload {
  /** The store that sends it, which ignores its own. */
  from: string;
  /** Makes two payloads with the same content differ: equal ones of a transaction are sent once. */
  n: number;
  deltas?: Delta[];
  /** There are new facts. */
  facts?: true;
  /** A process begins to drive runs. Subscribers answer with an announcement. */
  hello?: true;
}

export interface Live {
  /** Starts to listen to subscribers. */
  startPublishing(): void;
  publish(delta: Delta): void;
  hasSubscribers(): boolean;
  /** Facts were written. */
  announceFacts(): void;
  /** The returned function ends the subscription. */
  subscribe(listener: (delta: Delta) => void): () => void;
  close(): void;
}

export interface LiveDeps {
  session: Session;
  timing: Timing;
  channels: { live: string; subscribers: string };
  /** Called when another process has written facts. */
  onFacts(): void;
}

export function createLive({ session, timing, channels, onFacts }: LiveDeps): Live {
  const self = randomBytes(8).toString('hex');
  const listeners = new Set<(delta: Delta) => void>();
  let isPublishing = false;
  let watchedUntil = 0;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let hasFacts = false;
  let count = 0;
  let flushTimer: NodeJS.Timeout | null = null;
  let announceTimer: NodeJS.Timeout | null = null;
  let endListening: (() => void) | null = null;

  session.onConnect(() => {
    if (listeners.size > 0) announce();
  });

  const isWatched = () => performance.now() < watchedUntil;
  const notify = (channel: string, payloads: string[]) =>
    void session
      .query({ name: 'notify', text: 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', values: [channel, payloads] })
      .catch(() => {});

  function scheduleFlush(): void {
    flushTimer ??= setTimeout(flush, timing.liveBatch).unref();
  }

  function flush(): void {
    flushTimer = null;
    const [deltas, facts] = [waiting, hasFacts];
    [waiting, waitingBytes, hasFacts] = [[], 0, false];
    if (isWatched()) notify(channels.live, packPayloads(deltas, facts));
  }

  /** As few payloads as possible. `deltas` are JSON already. */
  function packPayloads(deltas: string[], facts: boolean): string[] {
    const payloads: string[] = [];
    let current: string[] = [];
    let bytes = 0;
    const end = () => {
      if (current.length > 0 || (facts && payloads.length === 0)) {
        const mark = facts && payloads.length === 0 ? ',"facts":true' : '';
        payloads.push(`{"from":"${self}","n":${++count}${mark},"deltas":[${current.join(',')}]}`);
      }
      [current, bytes] = [[], 0];
    };
    for (const delta of deltas) {
      const size = Buffer.byteLength(delta) + 1;
      if (bytes + size > maxDeltaBytes) end();
      current.push(delta);
      bytes += size;
    }
    end();
    return payloads;
  }

  function announce(): void {
    notify(channels.subscribers, [self]);
    if (announceTimer !== null) clearTimeout(announceTimer);
    announceTimer = setTimeout(announce, timing.announce).unref();
  }

  function receive(text: string): void {
    const payload = parsePayload(text);
    if (payload === null || payload.from === self) return;
    if (payload.hello) announce();
    if (payload.facts) onFacts();
    for (const each of payload.deltas ?? []) {
      const delta = readDelta(each);
      if (delta !== null) for (const listener of [...listeners]) listener(delta);
    }
  }

  function stopSubscribing(): void {
    if (announceTimer !== null) clearTimeout(announceTimer);
    announceTimer = null;
    endListening?.();
    endListening = null;
  }

  return {
    startPublishing() {
      if (isPublishing) return;
      isPublishing = true;
      session.listen(channels.subscribers, (from) => {
        if (from !== self) watchedUntil = performance.now() + 2.5 * timing.announce;
      });
      const sayHello = () => notify(channels.live, [JSON.stringify({ from: self, n: ++count, hello: true } satisfies Payload)]);
      session.onConnect(sayHello);
      sayHello();
    },
    hasSubscribers: isWatched,
    publish(delta) {
      if (!isWatched()) return;
      for (const piece of splitDelta(delta)) {
        if (waitingBytes > maxWaitingBytes) return;
        waiting.push(piece);
        waitingBytes += Buffer.byteLength(piece);
      }
      scheduleFlush();
    },
    announceFacts() {
      if (!isWatched()) return;
      hasFacts = true;
      scheduleFlush();
    },
    subscribe(listener) {
      const own = (delta: Delta) => listener(delta);
      listeners.add(own);
      if (listeners.size === 1) {
        endListening = session.listen(channels.live, receive);
        announce();
      }
      return () => {
        listeners.delete(own);
        if (listeners.size === 0) stopSubscribing();
      };
    },
    close() {
      listeners.clear();
      stopSubscribing();
      if (flushTimer !== null) clearTimeout(flushTimer);
    },
  };
}

/** The JSON of a delta, in pieces that fit into a notification. */
function splitDelta(delta: Delta): string[] {
  const text = JSON.stringify(delta);
  if (Buffer.byteLength(text) <= maxDeltaBytes) return [text];
  const characters = [...delta.text];
  // A delta whose other fields are that large does not come from this program.
  if (characters.length < 2) return [];
  const middle = characters.length >> 1;
  return [characters.slice(0, middle), characters.slice(middle)].flatMap((half) => splitDelta({ ...delta, text: half.join('') }));
}

function parsePayload(text: string): Payload | null {
  if (text.length > maxPayloadBytes) return null;
  try {
    const payload = JSON.parse(text) as Payload;
    const isPayload = typeof payload === 'object' && payload !== null && typeof payload.from === 'string';
    return isPayload && (payload.deltas === undefined || Array.isArray(payload.deltas)) ? payload : null;
  } catch {
    return null;
  }
}
