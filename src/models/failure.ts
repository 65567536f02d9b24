// What went wrong with a model call, as the kernel sees it: a code, whether trying again may help, and how long the provider wants to be
// left alone.
import { type ErrorCode, isRetinueError } from '../contract/error.ts';
import type { ModelFailure } from '../ports/model.ts';

/** Turns whatever a model threw into a failure. `now` is the wall clock, for a Retry-After that is a date. */
export function classify(thrown: unknown, now: (httpDate: string) => number | null): ModelFailure {
  if (isRetinueError(thrown)) return { error: thrown.info, limited: false, retryAfterMs: null };
  const status = numberOf(thrown, 'statusCode');
  const message = messageOf(thrown);
  const retryAfterMs = retryAfter(headersOf(thrown), now);
  const [code, retryable] = status === null ? codeOfError(thrown) : codeOfStatus(status, message);
  return { error: { code, message, retryable }, limited: status === 429 || status === 529 || status === 503, retryAfterMs };
}

export function failure(code: ErrorCode, message: string, retryable: boolean): ModelFailure {
  return { error: { code, message, retryable }, limited: false, retryAfterMs: null };
}

const tooLong = /context.{0,20}(length|window)|too (long|many tokens)|maximum.{0,20}tokens|token limit/i;

function codeOfStatus(status: number, message: string): [ErrorCode, boolean] {
  if (status === 401 || status === 403) return ['auth', false];
  if (status === 413 || (status === 400 && tooLong.test(message))) return ['context_length', false];
  if (status === 429 || status === 529 || status === 503) return ['rate_limited', true];
  if (status === 408 || status === 409 || status >= 500) return ['provider', true];
  return status >= 400 ? ['bad_request', false] : ['provider', true];
}

/** Errors without a status are of the connection, and those may pass; but not what the model's own code got wrong. */
function codeOfError(thrown: unknown): [ErrorCode, boolean] {
  const marked = (thrown as { isRetryable?: unknown } | null)?.isRetryable;
  return ['provider', typeof marked === 'boolean' ? marked : true];
}

function retryAfter(headers: Record<string, string>, now: (httpDate: string) => number | null): number | null {
  const ms = Number(headers['retry-after-ms']);
  if (headers['retry-after-ms'] !== undefined && Number.isFinite(ms) && ms >= 0) return ms;
  const value = headers['retry-after'];
  if (value === undefined) return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : null;
  return now(value);
}

function headersOf(thrown: unknown): Record<string, string> {
  const headers = (thrown as { responseHeaders?: unknown } | null)?.responseHeaders;
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {};
}

function numberOf(thrown: unknown, key: string): number | null {
  const value = (thrown as Record<string, unknown> | null)?.[key];
  return typeof value === 'number' ? value : null;
}

function messageOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : typeof thrown === 'string' ? thrown : 'the provider failed';
  return (text || 'the provider failed').toWellFormed().slice(0, 2000);
}
