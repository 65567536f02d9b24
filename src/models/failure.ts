// Converts errors of model calls to the failures that the kernel handles: a code, whether a retry may help, and how long to wait before it.
import { type ErrorCode, isRetinueError } from '../contract/error.ts';
import type { ModelFailure } from '../ports/model.ts';

/** `dateToDelay` converts a Retry-After date to milliseconds from now. */
export function errorToFailure(thrown: unknown, dateToDelay: (httpDate: string) => number | null): ModelFailure {
  if (isRetinueError(thrown)) return { error: thrown.info, limited: false, retryAfterMs: null };
  const given = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Record<string, unknown>;
  const status = findStatus(given);
  const message = errorMessage(thrown);
  const retryAfterMs = parseRetryAfter(responseHeaders(given), dateToDelay);
  const [code, retryable] = status === null ? errorToCode(given) : statusToCode(status, given, message);
  return { error: { code, message, retryable }, limited: retryable && isOverload(status), retryAfterMs };
}

export function createFailure(code: ErrorCode, message: string, retryable: boolean): ModelFailure {
  return { error: { code, message, retryable }, limited: false, retryAfterMs: null };
}

const tooLong =
  /context.{0,20}(length|window|limit|size)|too (long|many (input )?tokens)|maximum.{0,20}tokens|token limit|input length.{0,40}exceed/i;

/** Exhausted money or quota is reported as 429, too, but waiting does not help. */
const quotaUsedUp = /insufficient_quota|billing_hard_limit|credit balance|exceeded your current quota/i;

function statusToCode(status: number, given: Record<string, unknown>, message: string): [ErrorCode, boolean] {
  if (isAuthFailure(status, message)) return ['auth', false];
  if (status === 413 || (status === 400 && isTooLong(given, message))) return ['context_length', false];
  if (isOverload(status)) return ['rate_limited', !quotaUsedUp.test(`${given.code} ${message}`)];
  if (status === 408 || status === 409 || status >= 500) return ['provider', true];
  return status >= 400 ? ['bad_request', false] : ['provider', true];
}

/** Google answers 400 to an unknown key. */
export function isAuthFailure(status: number, message: string): boolean {
  return status === 401 || status === 403 || (status === 400 && /api key (not valid|expired|not found)/i.test(message));
}

/** The SDK throws these before it sends anything, so a retry would fail in the same way. */
const misuse = /^AI_(UnsupportedFunctionality|InvalidPrompt|InvalidArgument|LoadAPIKey|LoadSetting|NoSuchModel)Error$/;

/** Errors without a status are connection errors, which a retry may fix; misuse of the SDK is not. */
function errorToCode(given: Record<string, unknown>): [ErrorCode, boolean] {
  if (misuse.test(String(given.name))) return ['bad_request', false];
  return ['provider', typeof given.isRetryable === 'boolean' ? given.isRetryable : true];
}

function isOverload(status: number | null): boolean {
  return status === 429 || status === 529 || status === 503;
}

function isTooLong(given: Record<string, unknown>, message: string): boolean {
  return given.code === 'context_length_exceeded' || tooLong.test(message);
}

/** Codes and types of errors inside a stream, which have no status, with the status that they mean. */
const statusWords: [RegExp, number][] = [
  [/rate_limit|too_many_requests|insufficient_quota/, 429],
  [/overloaded/, 529],
  [/authentication|invalid_api_key/, 401],
  [/context_length_exceeded/, 400],
];

/** The HTTP status of an error, also if only its code or type tells it. */
export function findStatus(given: Record<string, unknown>): number | null {
  if (typeof given.statusCode === 'number') return given.statusCode;
  const code = Number(given.code);
  if (Number.isInteger(code) && code >= 400 && code <= 599) return code;
  const word = `${given.code} ${given.type}`;
  return statusWords.find(([pattern]) => pattern.test(word))?.[1] ?? null;
}

function parseRetryAfter(headers: Record<string, string>, dateToDelay: (httpDate: string) => number | null): number | null {
  const ms = Number(headers['retry-after-ms']);
  if (headers['retry-after-ms'] !== undefined && Number.isFinite(ms) && ms >= 0) return ms;
  const value = headers['retry-after'];
  if (value === undefined) return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : null;
  return dateToDelay(value);
}

function responseHeaders({ responseHeaders }: Record<string, unknown>): Record<string, string> {
  return typeof responseHeaders === 'object' && responseHeaders !== null ? (responseHeaders as Record<string, string>) : {};
}

function errorMessage(thrown: unknown): string {
  const message = typeof thrown === 'string' ? thrown : (thrown as { message?: unknown } | null)?.message;
  return (typeof message === 'string' && message !== '' ? message : 'the provider failed').toWellFormed().slice(0, 2000);
}
