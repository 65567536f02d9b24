// The HTTP status of each error, and the shape of error answers.
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type ErrorCode, isRetinueError } from '../contract/error.ts';
import type { HttpError } from '../contract/http.ts';

/** Codes of errors that only HTTP has. */
const httpCodes = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  shutting_down: 503,
} as const;
export type HttpCode = keyof typeof httpCodes;

/** Codes that are not listed are faults of the server: 500. */
const statuses: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  invalid_brief: 400,
  invalid_limit: 400,
  invalid_rule: 400,
  invalid_import: 400,
  invalid_config: 400,
  unknown_agent: 400,
  unknown_tool: 400,
  unknown_model: 400,
  unknown_dialect: 400,
  unknown_budget: 400,
  budget_exceeded: 429,
  price_unknown: 400,
  ambiguous_id: 400,
  usage: 400,
  denied: 403,
  unknown_run: 404,
  depth: 409,
  key_conflict: 409,
  max_runs: 409,
  parent_full: 409,
  parent_ended: 409,
  not_continuable: 409,
  paused: 409,
  fenced: 409,
  live_tree: 409,
  erased: 409,
  queue_full: 429,
  store_busy: 503,
};

/** An error of the server itself, in contrast to errors of the API. */
export class HttpFailure extends Error {
  readonly code: HttpCode;
  /** The methods of the path, for `method_not_allowed`. */
  readonly allow: string | undefined;

  constructor(code: HttpCode, message: string, allow?: string) {
    super(message);
    this.name = 'HttpFailure';
    this.code = code;
    this.allow = allow;
  }
}

function errorToStatus(error: unknown): ContentfulStatusCode {
  if (error instanceof HttpFailure) return httpCodes[error.code];
  return isRetinueError(error) ? (statuses[error.code] ?? 500) : 500;
}

/** Unexpected errors are logged and hidden: their messages may contain anything. */
export function errorToJson(error: unknown): HttpError {
  if (error instanceof HttpFailure || isRetinueError(error)) return { error: { code: error.code, message: error.message } };
  return { error: { code: 'internal', message: 'the server failed to answer this request; its log has the reason' } };
}

export function answerError(context: Context, error: unknown, log: (line: string) => void): Response {
  const status = errorToStatus(error);
  if (status >= 500 && !(error instanceof HttpFailure))
    log(`${context.req.method} ${context.req.path}: ${String((error as Error)?.stack ?? error)}`);
  if (status === 401) context.header('WWW-Authenticate', 'Bearer realm="retinue"');
  if (error instanceof HttpFailure && error.allow !== undefined) context.header('Allow', error.allow);
  if (status === 429) context.header('Retry-After', '60');
  return context.json(errorToJson(error), status);
}
