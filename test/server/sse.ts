// A reader of the event stream that can be cut at any byte.
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { tokenOf } from './support.ts';

export interface SentEvent {
  id: string | null;
  event: string;
  data: unknown;
}

export interface StreamReader {
  events: SentEvent[];
  comments: string[];
  response: IncomingMessage;
  /** Resolves when the connection is over. */
  ended: Promise<void>;
  /** Resolves when the events satisfy the condition. */
  until(isEnough: (events: SentEvent[]) => boolean): Promise<void>;
  cut(): void;
}

/** `onEvent` is called for each complete event. */
export function openStream(
  url: string,
  path: string,
  options: { lastEventId?: string; onEvent?: (event: SentEvent, cut: () => void) => void; paused?: boolean; token?: string } = {},
): Promise<StreamReader> {
  const { lastEventId, onEvent = () => {}, paused = false, token = tokenOf('read') } = options;
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) };
    const sent: ClientRequest = request(new URL(path, url), { headers, agent: false }, (response) => {
      const events: SentEvent[] = [];
      const comments: string[] = [];
      const waiting = new Set<() => void>();
      let text = '';
      let isCut = false;
      const ended = Promise.withResolvers<void>();
      const cut = () => {
        isCut = true;
        sent.destroy();
      };
      response.on('close', () => ended.resolve());
      response.on('error', () => {});
      const take = (chunk: string) => {
        text += chunk;
        for (let end = text.indexOf('\n\n'); end !== -1 && !isCut; end = text.indexOf('\n\n')) {
          const frame = text.slice(0, end);
          text = text.slice(end + 2);
          const event = parseFrame(frame);
          if (event === null) comments.push(frame);
          else {
            events.push(event);
            onEvent(event, cut);
          }
        }
        for (const check of waiting) check();
      };
      if (!paused) response.setEncoding('utf8').on('data', take);
      const until = (isEnough: (all: SentEvent[]) => boolean) =>
        new Promise<void>((done) => {
          const check = () => {
            if (!isEnough(events)) return;
            waiting.delete(check);
            done();
          };
          waiting.add(check);
          check();
        });
      resolve({ events, comments, response, ended: ended.promise, until, cut });
    });
    sent.on('error', reject);
    sent.end();
  });
}

function parseFrame(frame: string): SentEvent | null {
  const fields = new Map(frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
  const event = fields.get('event');
  if (event === undefined) return null;
  return { id: fields.get('id') ?? null, event, data: JSON.parse(fields.get('data') as string) };
}
