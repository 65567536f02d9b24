import { z } from 'zod';

/** All codes of outcomes, refusals and thrown errors, with their meaning. The list is closed. */
export const errorCodes = {
  // refused at admission: no run was created
  invalid_brief: 'a field of the brief is missing, malformed or out of range',
  invalid_limit: 'a limit is zero, negative, not finite, too large or of the wrong type',
  invalid_rule: 'a rule does not have the form `allow|ask|deny tool[:pattern]`, or names no tool',
  unknown_agent: 'no agent has this name',
  unknown_tool: 'no tool has this name',
  unknown_model: 'no model has this name, or none is configured',
  unknown_dialect: 'no dialect has this name',
  unknown_budget: 'no shared budget has this name',
  budget_exceeded: 'a shared budget is used up, and is set to refuse new runs',
  key_conflict: 'a run was already created with this idempotency key, from another brief or not by this process',
  depth: 'the parent is at the maximum depth and may not delegate',
  max_runs: 'the tree has reached its maximum number of runs',
  parent_full: 'the parent has reached its maximum number of concurrent children, and is set to refuse more',
  queue_full: 'too many runs are waiting for a slot',
  parent_ended: 'the run or the process has ended or is ending, and accepts nothing more',
  price_unknown: 'a cost limit was set, but the price of the model is unknown',
  workspace: 'the files of the run could not be prepared',
  not_continuable: 'the run to continue has not ended, or was never started',
  // a run was not found
  unknown_run: 'no run has this id',
  ambiguous_id: 'more than one run begins with this id',
  // a run failed
  empty: 'the model returned an empty answer twice in a row',
  loop: 'the model repeated the same tool calls too often',
  malformed: 'the model kept sending tool calls with invalid arguments',
  result_invalid: 'the result did not match its schema, even after all repair attempts',
  refused: "the provider's content filter stopped the answer",
  no_result: 'the tool process of the run exited before it was told to',
  invalid_reply: 'the tool process of the run sent an invalid message; the error names the field',
  agent_program: 'the program of an external agent is missing, too old or not logged in, or it broke off',
  crashed: 'the tool process of the run was killed by a signal or exited with an error, or every process that drove the run died',
  provider: 'the provider failed, and retrying did not help',
  provider_timeout: 'the provider sent nothing for too long',
  rate_limited: 'the provider kept refusing calls because of load or quota',
  auth: 'the provider refused the credentials',
  context_length: "the conversation no longer fits into the model's context window",
  bad_request: 'the provider refused the request as malformed',
  script: 'the scripted model got a call that it has no step for, or ended with steps left over',
  check_failed: 'an acceptance check of the brief failed even after all repair attempts, or could not be carried out',
  flow_failed: 'the program of the flow threw an error',
  flow_changed: 'the program of the flow is not the one that the run began with, or took other steps than before',
  step_unknown: 'a step of the flow was cut off, so whether it had its effect is unknown',
  // a tool call was refused
  denied: 'the effect of the call cannot be determined, or its target is not allowed',
  // limits and orders
  max_turns: 'the turn limit was reached',
  max_tokens: 'the token limit was reached',
  max_cost: 'the cost limit was reached',
  deadline: 'the deadline passed',
  cancelled: 'the run was cancelled',
  client_gone: 'the client that delegated the run disconnected',
  paused: 'the run was paused and its process has stopped driving it; it can be resumed',
  // store and environment
  fenced: 'another process has taken over the tree',
  store_busy: 'the database stayed locked',
  store_io: 'the database could not be read or written',
  store_corrupt: 'the database is damaged, or it is not a Retinue database',
  store_newer: 'the database was written by a newer version',
  invalid_import: 'the file is not a Retinue export, is incomplete, or was changed',
  live_tree: 'runs of the tree have not ended',
  erased: 'the content of the run was erased; only its hashes are kept',
  invalid_config: 'the configuration has an unknown key or an invalid value',
  usage: 'a command or a call was used incorrectly',
  internal: 'a bug in Retinue',
} as const;

export type ErrorCode = keyof typeof errorCodes;
export const ErrorCode = z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]]);

/** An error as data: in outcomes, facts and refusals. */
export const ErrorInfo = z.strictObject({ code: ErrorCode, message: z.string(), retryable: z.boolean() });
export type ErrorInfo = z.infer<typeof ErrorInfo>;

const marker = Symbol.for('retinue.error');

export type ErrorOption = 'adopt' | 'all' | 'live' | 'maxCostUsd' | 'unfinished';

/** The only error class. It carries a marker, so that `isRetinueError` also works across copies of the package. */
export class RetinueError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  /** The option of the call to change. Messages call it by the name that programs use; the command line adds its flag. */
  readonly option?: ErrorOption;
  readonly [marker] = true;

  constructor(code: ErrorCode, message: string, options: { retryable?: boolean; cause?: unknown; option?: ErrorOption } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RetinueError';
    this.code = code;
    this.retryable = options.retryable ?? false;
    if (options.option !== undefined) this.option = options.option;
  }

  get info(): ErrorInfo {
    return { code: this.code, message: this.message, retryable: this.retryable };
  }
}

export function isRetinueError(value: unknown): value is RetinueError {
  return typeof value === 'object' && value !== null && (value as { [marker]?: unknown })[marker] === true;
}
