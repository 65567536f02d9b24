import { z } from 'zod';

/** Every code an outcome, a refusal or a thrown error can carry, with what it means. The list is closed. */
export const errorCodes = {
  // refused at admission: no run was created
  invalid_brief: 'a field of the brief is missing, malformed or out of range',
  invalid_limit: 'a limit is zero, negative, not finite, too large or of the wrong type',
  invalid_rule: 'a rule does not read `allow|ask|deny tool[:pattern]`',
  unknown_agent: 'no agent has this name',
  unknown_tool: 'no tool has this name',
  unknown_model: 'no model has this name, or none is configured',
  unknown_run: 'no run has this id',
  unknown_dialect: 'no dialect has this name',
  ambiguous_id: 'more than one run begins with this id',
  depth: 'the parent is already at the deepest level that may delegate',
  max_runs: 'the tree has as many runs as it may have',
  parent_full: 'the parent has as many children at once as it may have, and its setting is to refuse',
  queue_full: 'too many runs are waiting for a slot',
  parent_ended: 'the parent has ended or is ending',
  price_unknown: 'a cost limit was set by hand, but the price of the model is not known',
  not_continuable: 'the run to go on with has not ended, or was never started',
  // how a run failed
  empty: 'the model answered nothing twice',
  loop: 'the model repeated the same calls too often',
  malformed: 'the model kept sending tool calls that do not parse',
  result_invalid: 'the result still broke its schema after all repairs',
  refused: "the provider's content filter stopped the answer",
  no_result: 'the child ended without an outcome',
  invalid_reply: 'what a host sent back breaks the contract; the message begins with the place',
  crashed: 'the child process ended by a signal or a failure of its own',
  provider: 'the provider failed and retrying did not help',
  provider_timeout: 'the provider sent nothing for too long',
  rate_limited: 'the provider kept refusing for load or quota',
  auth: 'the provider refused the credentials',
  context_length: "the conversation no longer fits the model's window",
  bad_request: 'the provider refused the request as malformed',
  denied: 'what the call would do cannot be told, so no rule may allow it',
  script: 'the scripted model met a call it has no step for, or ended with steps left over',
  // limits and orders
  max_turns: 'the turn limit was met',
  max_tokens: 'the token limit was met',
  max_cost: 'the money limit was met',
  deadline: 'the deadline passed',
  cancelled: 'somebody asked for the run to stop',
  client_gone: 'the client that delegated went away',
  paused: 'the run was paused and its process has left it; it can be resumed',
  // ground
  fenced: 'another process has taken this tree over',
  store_busy: 'the database stayed locked',
  store_io: 'the database could not be written or read',
  store_corrupt: 'the database is damaged or is no database of Retinue',
  store_newer: 'the database was written by a newer version',
  invalid_import: 'the file is no export of Retinue, is not whole, or was changed',
  live_tree: 'runs of the tree are still at work',
  erased: 'what the run said was erased; only its hashes are kept',
  invalid_config: 'the configuration has an unknown key or a wrong value',
  usage: 'the command line was used wrongly',
  internal: 'a fault of Retinue itself',
} as const;

export type ErrorCode = keyof typeof errorCodes;
export const ErrorCode = z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]]);

/** An error as data: in outcomes, facts and refusals. */
export const ErrorInfo = z.strictObject({ code: ErrorCode, message: z.string(), retryable: z.boolean() });
export type ErrorInfo = z.infer<typeof ErrorInfo>;

const marker = Symbol.for('retinue.error');

/** The one error class. It marks itself, so that `isRetinueError` holds across copies of the package. */
export class RetinueError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly [marker] = true;

  constructor(code: ErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RetinueError';
    this.code = code;
    this.retryable = options.retryable ?? false;
  }

  get info(): ErrorInfo {
    return { code: this.code, message: this.message, retryable: this.retryable };
  }
}

export function isRetinueError(value: unknown): value is RetinueError {
  return typeof value === 'object' && value !== null && (value as { [marker]?: unknown })[marker] === true;
}
