// A real OTLP receiver: an HTTP server that decodes what it gets, as JSON or protobuf.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { decodeProtobuf } from './support-protobuf.ts';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  traceState: string;
  parentId: string | null;
  name: string;
  /** 1: internal, 3: client. */
  kind: number;
  start: number;
  end: number;
  attributes: Record<string, unknown>;
  /** Names. */
  events: string[];
  /** As `trace/span`. */
  links: string[];
  isError: boolean;
  message: string;
  resource: Record<string, unknown>;
}

export interface Receiver {
  endpoint: string;
  requests: { path: string; headers: IncomingHttpHeaders; body: string }[];
  /** All spans, copies included, in the order of arrival. */
  spans: ReceivedSpan[];
  /** One span per id: the last copy. */
  unique(): ReceivedSpan[];
  /** Resolves when the spans satisfy the condition. */
  until(isEnough: (spans: ReceivedSpan[]) => boolean): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `answer`: the status of each request; 200 by default. */
export async function startReceiver(answer: (n: number) => number | 'never' = () => 200): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const requests: Receiver['requests'] = [];
  const waiting = new Set<() => void>();
  let n = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      const isJson = request.headers['content-type'] === 'application/json';
      requests.push({ path: request.url ?? '', headers: request.headers, body: body.toString('latin1') });
      const status = answer(n++);
      if (status === 'never') return;
      if (status === 200) spans.push(...(isJson ? decodeJson(body) : decodeProtobuf(body)));
      response.writeHead(status, { 'content-type': request.headers['content-type'] ?? '' }).end(isJson ? '{}' : '');
      for (const check of waiting) check();
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans,
    unique: () => [...new Map(spans.map((span) => [span.spanId, span])).values()],
    until: (isEnough) =>
      new Promise((resolve) => {
        const check = () => {
          if (!isEnough(spans)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

type JsonValue = {
  stringValue?: string;
  intValue?: number;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: JsonValue[] };
};
type JsonAttributes = { key: string; value: JsonValue }[];
interface JsonSpan {
  [key: string]: unknown;
  attributes: JsonAttributes;
  events: { name: string }[];
  links: { traceId: string; spanId: string }[];
  status: { code: number; message?: string };
}

function decodeJson(body: Buffer): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body.toString()) as {
    resourceSpans: { resource: { attributes: JsonAttributes }; scopeSpans: { spans: JsonSpan[] }[] }[];
  };
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId as string,
        spanId: span.spanId as string,
        traceState: (span.traceState as string | undefined) ?? '',
        parentId: (span.parentSpanId as string | undefined) ?? null,
        name: span.name as string,
        kind: span.kind as number,
        start: Number(BigInt(span.startTimeUnixNano as string) / 1_000_000n),
        end: Number(BigInt(span.endTimeUnixNano as string) / 1_000_000n),
        attributes: decodeAttributes(span.attributes),
        events: span.events.map((event) => event.name),
        links: span.links.map((link) => `${link.traceId}/${link.spanId}`),
        isError: span.status.code === 2,
        message: span.status.message ?? '',
        resource: decodeAttributes(resource.attributes),
      })),
    ),
  );
}

function decodeAttributes(attributes: JsonAttributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, decodeValue(value)]));
}

function decodeValue(value: JsonValue): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(decodeValue);
  return Object.values(value)[0];
}
