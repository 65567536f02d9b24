// The latest messages of one HTTP session, so that a client whose stream broke can continue it with `Last-Event-ID`. Bounded: a client that
// comes back too late reads the results of its runs by their ids.
import type { EventStore } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

interface StoredEvent {
  id: string;
  streamId: string;
  message: JSONRPCMessage;
  bytes: number;
}

export interface EventStoreLimits {
  maxEvents: number;
  /** The newest event is kept even if it is larger. */
  maxBytes: number;
}

export function createEventStore({ maxEvents, maxBytes }: EventStoreLimits): EventStore {
  const events: StoredEvent[] = [];
  let bytes = 0;
  let count = 0;

  return {
    async storeEvent(streamId, message) {
      const event = { id: `${streamId}/${++count}`, streamId, message, bytes: Buffer.byteLength(JSON.stringify(message)) };
      events.push(event);
      bytes += event.bytes;
      while (events.length > 1 && (events.length > maxEvents || bytes > maxBytes)) bytes -= events.shift()?.bytes ?? 0;
      return event.id;
    },
    /** Undefined for an event that is not kept any more: the transport refuses the request then. */
    async getStreamIdForEventId(id) {
      return events.find((event) => event.id === id)?.streamId;
    },
    async replayEventsAfter(lastId, { send }) {
      const last = events.findIndex((event) => event.id === lastId);
      const streamId = events[last]?.streamId;
      if (streamId === undefined) throw new Error('the event is not kept any more');
      // The event that opens a stream has no message.
      for (const event of events.slice(last + 1))
        if (event.streamId === streamId && 'jsonrpc' in event.message) await send(event.id, event.message);
      return streamId;
    },
  };
}
