// Spans as OTLP. The only file that imports OpenTelemetry.
import { createTraceState, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { Span } from './span.ts';

export interface Encoder {
  contentType: string;
  encode(spans: Span[]): Uint8Array;
  /** How many spans the receiver did not take, and why; null if it took all. */
  readRejection(response: Uint8Array): { count: number; reason: string } | null;
}

export interface EncoderOptions {
  protocol: 'http/protobuf' | 'http/json';
  resource: Record<string, string>;
  /** Version of Retinue. */
  version: string;
}

type ReadableSpan = Parameters<typeof JsonTraceSerializer.serializeRequest>[0][number];
type HrTime = ReadableSpan['startTime'];

/** Sampled: what is not is not exported. */
const traceFlags = 1;

export function createEncoder({ protocol, resource, version }: EncoderOptions): Encoder {
  const serializer = protocol === 'http/json' ? JsonTraceSerializer : ProtobufTraceSerializer;
  const attributes = { ...resource, 'service.version': resource['service.version'] ?? version };
  const shared = {
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    instrumentationScope: { name: 'retinue', version },
    // One object for all: spans are grouped by it.
    resource: {
      attributes,
      getRawAttributes: () => Object.entries(attributes),
      merge: (other: unknown) => other,
    } as unknown as ReadableSpan['resource'],
  };
  return {
    contentType: protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
    encode: (spans) => serializer.serializeRequest(spans.map((span) => ({ ...shared, ...toReadableSpan(span) }))) ?? new Uint8Array(),
    readRejection(response) {
      const { partialSuccess } = serializer.deserializeResponse(response);
      const count = Number(partialSuccess?.rejectedSpans ?? 0);
      return count > 0 ? { count, reason: partialSuccess?.errorMessage ?? '' } : null;
    },
  };
}

function toReadableSpan(span: Span) {
  const { traceId, spanId, parentId, isParentRemote, traceState } = span;
  const context = { traceId, spanId, traceFlags, ...(traceState === undefined ? {} : { traceState: createTraceState(traceState) }) };
  return {
    name: span.name,
    kind: span.kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => context,
    ...(parentId === null ? {} : { parentSpanContext: { traceId, spanId: parentId, traceFlags, isRemote: isParentRemote } }),
    startTime: toHrTime(span.startMs),
    endTime: toHrTime(span.endMs),
    duration: toHrTime(span.endMs - span.startMs),
    status: span.error
      ? { code: SpanStatusCode.ERROR, ...(span.error.message === undefined ? {} : { message: span.error.message }) }
      : { code: SpanStatusCode.UNSET },
    attributes: span.attributes,
    events: span.events.map(({ name, ms, attributes }) => ({ name, time: toHrTime(ms), attributes })),
    links: span.links.map((link) => ({ context: { ...link, traceFlags } })),
  };
}

/** Seconds and nanoseconds. */
function toHrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}
