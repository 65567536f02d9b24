// Reads requests and answers of the model gate, within limits, and sends responses.
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EndpointResponse } from '../ports/model.ts';
import { asObject, asText } from './wire/body.ts';
import type { Body } from './wire/types.ts';

/** The largest request that a provider accepts. */
export const maxRequestBytes = 32 * 1024 * 1024;
/** Of all requests that are being read by one gate. */
export const maxBufferedBytes = 64 * 1024 * 1024;
const maxAnswerBytes = 64 * 1024 * 1024;

/** A refusal with its status. */
export class GateRefusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface BodyReader {
  /** Rejects with `GateRefusal`. */
  read(incoming: IncomingMessage): Promise<Body>;
}

/** Reads the bodies of one gate. */
export function createBodyReader(): BodyReader {
  let buffered = 0;
  return {
    async read(incoming) {
      const { 'content-encoding': encoding = 'identity', 'content-length': length } = incoming.headers;
      if (encoding !== 'identity') throw new GateRefusal(415, `the model gate does not read requests with the encoding ${encoding}`);
      if (Number(length) > maxRequestBytes) throw tooLarge();
      const chunks: Buffer[] = [];
      let bytes = 0;
      try {
        for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
          bytes += chunk.length;
          buffered += chunk.length;
          if (bytes > maxRequestBytes || buffered > maxBufferedBytes) throw tooLarge();
          chunks.push(chunk);
        }
      } finally {
        buffered -= bytes;
      }
      return parseBody(Buffer.concat(chunks).toString('utf8'));
    },
  };
}

function tooLarge(): GateRefusal {
  return new GateRefusal(413, `the request has more than ${maxRequestBytes} bytes, or too many are sent at once`);
}

function parseBody(text: string): Body {
  try {
    return asObject(JSON.parse(text));
  } catch {
    throw new GateRefusal(400, 'the request is not valid JSON');
  }
}

/** Adds every piece of the answer to `chunks`, so that what arrived is known if it breaks off. */
export async function collectAnswer(answered: EndpointResponse, chunks: Buffer[] = []): Promise<string> {
  let bytes = 0;
  await answered.read((chunk) => {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new Error(`the answer has more than ${maxAnswerBytes} bytes`);
    chunks.push(Buffer.from(chunk));
  });
  return Buffer.concat(chunks).toString('utf8');
}

export function parseEvents(raw: string): Body[] {
  return raw.split(/\r?\n/).flatMap((line) => {
    const data = line.startsWith('data:') ? line.slice(5).trim() : '';
    return data === '' || data === '[DONE]' ? [] : [asObject(JSON.parse(data))];
  });
}

export function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const given = asText(headers['x-api-key']) || asText(headers.authorization).replace(/^Bearer\s+/i, '');
  const expected = Buffer.from(token);
  const actual = Buffer.from(given);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

export function sendJson(response: ServerResponse, status: number, body: Body): void {
  sendText(response, status, JSON.stringify(body));
}

export function sendText(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}
