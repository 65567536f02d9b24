/**
 * The envelope for storing or sending a delegated request and its response. Its keys have a fixed order, so the same content gives the same
 * bytes. Pure; an invalid envelope is a value that names the invalid field.
 *
 * Limits: a request of at most 262,144 bytes of JSON, a response of at most 131,072; a task of at most 65,536 bytes; at most 100 file hints of
 * at most 4,096 characters; 1 to 600 seconds; 1 to 500 iterations; at most 64 artifacts.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';

export const envelopeVersion = 1;
export const maxRequestBytes = 262_144;
export const maxResponseBytes = 131_072;
export const maxArtifacts = 64;
const maxTaskBytes = 65_536;

export const RxRequest = z.strictObject({
  task: z
    .string()
    .refine((task) => task.trim() !== '', 'must not be empty')
    .refine((task) => Buffer.byteLength(task) <= maxTaskBytes, `must be at most ${maxTaskBytes} bytes`),
  context: z.string().optional(),
  files: z.array(z.string().min(1).max(4096)).max(100).optional(),
  max_iterations: z.int().min(1).max(500),
  timeout_seconds: z.int().min(1).max(600),
});
export type RxRequest = z.infer<typeof RxRequest>;

const RxArtifact = z.strictObject({ kind: z.enum(['note', 'path', 'diff', 'json']), value: z.string() });

/** What was cut: the path of the value in the response, and how much of it was kept. */
export const RxTruncation = z.strictObject({
  path: z.string(),
  unit: z.enum(['bytes', 'items']),
  original: z.int().min(0),
  kept: z.int().min(0),
});
export type RxTruncation = z.infer<typeof RxTruncation>;

export const RxResponse = z.strictObject({
  success: z.boolean(),
  summary: z.string(),
  artifacts: z.array(RxArtifact).max(maxArtifacts),
  error: z.string().optional(),
  timed_out: z.boolean().optional(),
  truncated: z.array(RxTruncation).optional(),
  duration_ms: z.int().min(0),
});
export type RxResponse = z.infer<typeof RxResponse>;

const head = { version: z.literal(envelopeVersion), correlation_id: z.string().min(1).max(200) };
const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex');

const RequestEnvelope = z.strictObject({ ...head, request: RxRequest, task_hash: hash });
const ResponseEnvelope = z.strictObject({
  ...head,
  response: RxResponse,
  task_hash: hash,
  started_at: z.iso.datetime({ precision: 3 }).nullable(),
  duration_ms: z.int().min(0),
});
export type RxRequestEnvelope = z.infer<typeof RequestEnvelope>;
export type RxResponseEnvelope = z.infer<typeof ResponseEnvelope>;

/** Hashes the task as it is delegated: without surrounding whitespace. */
export function taskHash(task: string): string {
  return createHash('sha256').update(task.trim().toWellFormed()).digest('hex');
}

export function requestEnvelope(correlationId: string, request: RxRequest): RxRequestEnvelope {
  return { version: envelopeVersion, correlation_id: correlationId, request: orderRequestKeys(request), task_hash: taskHash(request.task) };
}

/** A response that is too large loses its artifacts, then its summary, and becomes a validation error. */
export function responseEnvelope(
  request: Pick<RxRequestEnvelope, 'correlation_id' | 'task_hash'>,
  response: RxResponse,
  startedAt: string | null,
): RxResponseEnvelope {
  const wrap = (answer: RxResponse): RxResponseEnvelope => ({
    version: envelopeVersion,
    correlation_id: request.correlation_id,
    response: orderResponseKeys(answer),
    task_hash: request.task_hash,
    started_at: startedAt,
    duration_ms: answer.duration_ms,
  });
  const { error } = createFailure('response', `has more than ${maxResponseBytes} bytes`);
  const cut = { ...response, success: false, artifacts: [], error };
  const fits = (envelope: RxResponseEnvelope) => Buffer.byteLength(JSON.stringify(envelope)) <= maxResponseBytes;
  return [response, cut].map(wrap).find(fits) ?? wrap({ ...cut, summary: '' });
}

/** The answer to an invalid request, with its id and task hash as far as they could be read. */
export function createRefusedEnvelope(text: string, error: string): RxResponseEnvelope {
  const value = toObject(Buffer.byteLength(text) <= maxRequestBytes ? parseJson(text) : null);
  const id = head.correlation_id.safeParse(value.correlation_id);
  const { task } = toObject(value.request);
  const request = { correlation_id: id.success ? id.data : 'unknown', task_hash: taskHash(typeof task === 'string' ? task : '') };
  return responseEnvelope(request, createFailedResponse(error), null);
}

export function createFailedResponse(error: string): RxResponse {
  return { success: false, summary: '', artifacts: [], error, duration_ms: 0 };
}

export type EnvelopeRead<T> = { ok: true; envelope: T } | { ok: false; error: string };

/** Parses an envelope from JSON. The error of an invalid one is `validation: <path> (<problem>)`. */
export function readEnvelope(text: string): EnvelopeRead<RxRequestEnvelope | RxResponseEnvelope> {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxRequestBytes) return createFailure('envelope', `has more than ${maxRequestBytes} bytes`);
  const value = parseJson(text);
  if (value === undefined) return createFailure('envelope', 'is not JSON');
  const isResponse = typeof value === 'object' && value !== null && 'response' in value;
  if (isResponse && bytes > maxResponseBytes) return createFailure('envelope', `has more than ${maxResponseBytes} bytes`);
  const parsed = (isResponse ? ResponseEnvelope : RequestEnvelope).safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0] as z.core.$ZodIssue;
    const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] as string] : issue.path;
    return createFailure(path.join('.') || 'envelope', issue.message);
  }
  const envelope = parsed.data;
  if ('request' in envelope && envelope.task_hash !== taskHash(envelope.request.task))
    return createFailure('task_hash', 'does not match the task');
  return { ok: true, envelope };
}

/** Null if the request fits into an envelope; otherwise `validation: <path> (<problem>)`. */
export function findRequestProblem(correlationId: string, request: RxRequest): string | null {
  const parsed = RxRequest.safeParse(request);
  if (!parsed.success) {
    const issue = parsed.error.issues[0] as z.core.$ZodIssue;
    return createFailure(issue.path.join('.'), issue.message).error;
  }
  const bytes = Buffer.byteLength(JSON.stringify(requestEnvelope(correlationId, parsed.data)));
  return bytes <= maxRequestBytes ? null : createFailure('request', `has more than ${maxRequestBytes} bytes as an envelope`).error;
}

/** As `readEnvelope`, but a response is an error. */
export function parseRequestEnvelope(text: string): EnvelopeRead<RxRequestEnvelope> {
  const read = readEnvelope(text);
  if (!read.ok) return read;
  const { envelope } = read;
  return 'request' in envelope ? { ok: true, envelope } : createFailure('request', 'is missing: this is a response');
}

/** Undefined if it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function createFailure(path: string, problem: string): { ok: false; error: string } {
  return { ok: false, error: `validation: ${path} (${problem})` };
}

/** Puts keys into their fixed order, so that the same request gives the same bytes. */
function orderRequestKeys({ task, context, files, max_iterations, timeout_seconds }: RxRequest): RxRequest {
  return {
    task,
    ...(context !== undefined && { context }),
    ...(files !== undefined && { files }),
    max_iterations,
    timeout_seconds,
  };
}

export function orderResponseKeys({ success, summary, artifacts, error, timed_out, truncated, duration_ms }: RxResponse): RxResponse {
  return {
    success,
    summary,
    artifacts: artifacts.map(({ kind, value }) => ({ kind, value })),
    ...(error !== undefined && { error }),
    ...(timed_out !== undefined && { timed_out }),
    ...(truncated !== undefined && { truncated: truncated.map(({ path, unit, original, kept }) => ({ path, unit, original, kept })) }),
    duration_ms,
  };
}
