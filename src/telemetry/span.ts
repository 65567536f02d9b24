// A span as this folder makes it: plain data, independent of OpenTelemetry. `encode.ts` turns it into OTLP.
//
// `telemetry/` is a front-end that only reads: it turns recorded facts into spans and sends them. It never touches a run, and everything of
// OpenTelemetry is imported by `encode.ts` alone, which is loaded when the first spans are sent.
import { createHash } from 'node:crypto';

export type SpanValue = string | number | boolean | string[];
export type Attributes = Record<string, SpanValue>;

export interface SpanEvent {
  name: string;
  ms: number;
  attributes: Attributes;
}

/** The position of a span in a trace. */
export interface SpanPlace {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  parentId: string | null;
  /** The parent belongs to the caller, not to Retinue. */
  isParentRemote: boolean;
  traceState: string | undefined;
}

export interface Span extends SpanPlace {
  name: string;
  kind: 'internal' | 'client';
  startMs: number;
  endMs: number;
  attributes: Attributes;
  /** Null if it succeeded. */
  error: { message: string | undefined } | null;
  events: SpanEvent[];
  /** Spans of other traces that it belongs to. */
  links: { traceId: string; spanId: string }[];
}

/*
 * Ids are hashes of what they identify. A process that continues a tree, or exports it again, gives each span the id that it had before.
 */

export function traceIdOfTree(rootId: string): string {
  return hashId(`trace ${rootId}`, 32);
}

export function spanIdOfRun(runId: string): string {
  return hashId(`run ${runId}`, 16);
}

export function spanIdOfTool(runId: string, { turn, index }: { turn: number; index: number }): string {
  return hashId(`tool ${runId} ${turn}.${index}`, 16);
}

/** `seq`: the number of the fact that the call began with. */
export function spanIdOfModelCall(runId: string, seq: number): string {
  return hashId(`model ${runId} ${seq}`, 16);
}

/** All zeros would be invalid; a SHA-256 that begins with 64 of them does not occur. */
function hashId(text: string, digits: number): string {
  return createHash('sha256').update(`retinue ${text}`).digest('hex').slice(0, digits);
}
