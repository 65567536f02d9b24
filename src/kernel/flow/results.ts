// What a flow's program gets from recorded results, and what is recorded of its values and errors. Pure.
import { type ErrorCode, errorCodes, isRetinueError, RetinueError } from '../../contract/error.ts';
import type { FactData } from '../../contract/fact.ts';
import type { Json } from '../../contract/json.ts';
import type { FlowAnswer } from '../../ports/flow.ts';
import type { Redact } from '../../ports/secrets.ts';
import { canonical, sha256 } from '../../text/canonical.ts';
import { isJsonDeeperThan, maxValueDepth } from '../../text/json-depth.ts';
import { wellFormedJson } from '../../text/well-formed.ts';
import { createFailedEnding, type Ending } from '../state/outcome.ts';
import { redactJson } from '../tool-calls/original-arguments.ts';
import type { StepResult, StepState } from './state.ts';

const maxValueBytes = 1_048_576;

/** Throws `usage` if the value is not JSON, too large or nested too deeply. The program gets what was recorded, so secrets are removed first. */
export function valueToRecord(value: unknown, what: string, redact: Redact): Json | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) throw tooDeepError(what);
    throw new RetinueError('usage', `${what} cannot be recorded: ${(error as Error).message}`);
  }
  if (text === undefined) return undefined;
  if (isJsonDeeperThan(text, maxValueDepth)) throw tooDeepError(what);
  if (Buffer.byteLength(text) > maxValueBytes)
    throw new RetinueError('usage', `${what} has more than ${maxValueBytes} bytes; write it to a file and return the path`);
  return copySortedJson(redactJson(JSON.parse(wellFormedJson(text)) as Json, redact));
}

/** `JSON.stringify` runs out of stack at a few thousand levels. */
function tooDeepError(what: string): RetinueError {
  return new RetinueError(
    'usage',
    `${what} is nested deeper than ${maxValueDepth} levels; make it flatter, or write it to a file and return the path`,
  );
}

/** Identifies a brief when the program runs again. Undefined for one that is not JSON, which will be refused. */
export function hashBrief(brief: unknown, redact: Redact): string | undefined {
  try {
    return sha256(canonical(redactJson(JSON.parse(JSON.stringify(brief).toWellFormed()) as Json, redact)));
  } catch {
    return undefined;
  }
}

export type RecordedError = NonNullable<FactData['step.finished']['error']>;

export function errorToRecord(error: unknown, redact: Redact): RecordedError {
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
  const clean = (text: string) => redact(text.toWellFormed(), false);
  return { ...(isRetinueError(error) && { code: error.code }), message: clean(message), name: clean(name) };
}

/** A copy, because the program may change it, with sorted keys as in the store, so that the program sees the same order in every process. */
export function copySortedJson<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(canonical(value)) as T);
}

/** What a step's promise settles with. */
export function resultToValue(step: StepState, result: StepResult): { ok: true; value: unknown } | { ok: false; error: Error } {
  switch (result.status) {
    case 'ok':
      return { ok: true, value: copySortedJson(result.value) };
    case 'outcome':
      return { ok: true, value: copySortedJson(result.outcome) };
    case 'answer': {
      const { allowed, by, reason = null } = result.answer;
      return { ok: true, value: { approved: allowed, by, reason } satisfies FlowAnswer };
    }
    case 'unknown':
      return { ok: false, error: stepUnknownError(step) };
    case 'error':
      return { ok: false, error: recordToError(result.error, step) };
  }
}

function stepUnknownError({ name, at }: StepState): Error {
  const advice =
    'Check what it did, then start the flow again. The program can catch StepUnknown, or declare the step idempotent if it may be executed twice';
  const error = new RetinueError(
    'step_unknown',
    `step \`${name}\` at ${at} was cut off, so it is unknown whether it had its effect. ${advice}`,
  );
  error.name = 'StepUnknown';
  return error;
}

/** Its stack is the line of the step: the one of the error itself is not recorded. */
function recordToError({ name, message, code }: RecordedError, { at }: StepState): Error {
  const error = code !== undefined && code in errorCodes ? new RetinueError(code as ErrorCode, message) : new Error(message);
  if (!isRetinueError(error)) error.name = name;
  error.stack = `${name}: ${message}\n    at flow step (${at})`;
  return error;
}

/** The ending of a flow whose program threw. */
export function describeProgramError(error: unknown, redact: Redact): Ending {
  const { name, message } = errorToRecord(error, redact);
  if (isRetinueError(error)) return createFailedEnding(error.code, message, error.retryable);
  return createFailedEnding('flow_failed', `${name}: ${message}`);
}
