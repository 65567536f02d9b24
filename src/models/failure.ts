// What went wrong with a model call, as the kernel sees it: a code, whether trying again may help, and how long the provider wants to be
// left alone.
import { type ErrorCode, isRetinueError } from '../contract/error.ts';
import type { ModelFailure } from '../ports/model.ts';

/** Turns whatever a model threw into a failure. `now` is the wall clock, for a Retry-After that is a date. */
export function classify(thrown: unknown, now: (httpDate: string) => number | null): ModelFailure {
  if (isRetinueError(thrown)) return { error: thrown.info, limited: false, retryAfterMs: null };
  const given = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Record<string, unknown>;
  const status = statusOf(given);
  const message = messageOf(thrown);
  const retryAfterMs = retryAfter(headersOf(given), now);
  const [code, retryable] = status === null ? codeOfError(given) : codeOfStatus(status, given, message);
  return { error: { code, message, retryable }, limited: retryable && isLimit(status), retryAfterMs };
}

export function failure(code: ErrorCode, message: string, retryable: boolean): ModelFailure {
  return { error: { code, message, retryable }, limited: false, retryAfterMs: null };
}

const tooLong =
  /context.{0,20}(length|window|limit|size)|too (long|many (input )?tokens)|maximum.{0,20}tokens|token limit|input length.{0,40}exceed/i;

/** Money or quota that is used up comes as 429, too, and waiting does not bring it back. */
const usedUp = /insufficient_quota|billing_hard_limit|credit balance|exceeded your current quota/i;

function codeOfStatus(status: number, given: Record<string, unknown>, message: string): [ErrorCode, boolean] {
  if (isAuth(status, message)) return ['auth', false];
  if (status === 413 || (status === 400 && isTooLong(given, message))) return ['context_length', false];
  if (isLimit(status)) return ['rate_limited', !usedUp.test(`${given.code} ${message}`)];
  if (status === 408 || status === 409 || status >= 500) return ['provider', true];
  return status >= 400 ? ['bad_request', false] : ['provider', true];
}

/** Google answers 400 to a key that it does not know. */
export function isAuth(status: number, message: string): boolean {
  return status === 401 || status === 403 || (status === 400 && /api key (not valid|expired|not found)/i.test(message));
}

/** The SDK refuses these before anything is sent, so that they come again. */
const misuse = /^AI_(UnsupportedFunctionality|InvalidPrompt|InvalidArgument|LoadAPIKey|LoadSetting|NoSuchModel)Error$/;

/** Errors without a status are of the connection, and those may pass; but not what the model's own code got wrong. */
function codeOfError(given: Record<string, unknown>): [ErrorCode, boolean] {
  if (misuse.test(String(given.name))) return ['bad_request', false];
  return ['provider', typeof given.isRetryable === 'boolean' ? given.isRetryable : true];
}

function isLimit(status: number | null): boolean {
  return status === 429 || status === 529 || status === 503;
}

function isTooLong(given: Record<string, unknown>, message: string): boolean {
  return given.code === 'context_length_exceeded' || tooLong.test(message);
}

/** Words that stand for a status where an error came inside a stream and has none. */
const words: [RegExp, number][] = [
  [/rate_limit|too_many_requests|insufficient_quota/, 429],
  [/overloaded/, 529],
  [/authentication|invalid_api_key/, 401],
  [/context_length_exceeded/, 400],
];

/** The status of an error, also where it is hidden in its code. */
export function statusOf(given: Record<string, unknown>): number | null {
  if (typeof given.statusCode === 'number') return given.statusCode;
  const code = Number(given.code);
  if (Number.isInteger(code) && code >= 400 && code <= 599) return code;
  const word = `${given.code} ${given.type}`;
  return words.find(([pattern]) => pattern.test(word))?.[1] ?? null;
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

function headersOf({ responseHeaders }: Record<string, unknown>): Record<string, string> {
  return typeof responseHeaders === 'object' && responseHeaders !== null ? (responseHeaders as Record<string, string>) : {};
}

function messageOf(thrown: unknown): string {
  const said = typeof thrown === 'string' ? thrown : (thrown as { message?: unknown } | null)?.message;
  return (typeof said === 'string' && said !== '' ? said : 'the provider failed').toWellFormed().slice(0, 2000);
}
