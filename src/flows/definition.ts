// The public types of flows, and `defineFlow`.
import type { Brief, ResultForm } from '../contract/brief.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { AppliedChanges, FlowAnswer } from '../ports/flow.ts';
import type { StandardSchema } from './result.ts';

export type { AppliedChanges, FlowAnswer } from '../ports/flow.ts';

/** A brief for a child of the flow. With a schema as `result`, `outcome.data` has its type. */
export type FlowBrief<T> = Omit<Brief, 'result'> & { result?: ResultForm | StandardSchema<T> };
export type FlowOutcome<T> = Omit<Outcome, 'data'> & { data?: T };

/** A value after it was recorded as JSON, so a `Date` is a string. */
export type Recorded<T> = 0 extends 1 & T
  ? T
  : T extends { toJSON(): infer R }
    ? R
    : T extends object
      ? { [K in keyof T]: Recorded<T[K]> }
      : T;

/** The steps of a flow. Each is recorded; after a crash the program runs again and gets the recorded results. */
export interface Flow {
  /** The folder of the workspace. The flow's own process may have been started elsewhere. */
  readonly workspace: string;
  /** Delegates to an agent and waits for its outcome, which may be a failure. Rejects if the brief is refused. */
  delegate<T = unknown>(brief: FlowBrief<T>): Promise<FlowOutcome<T>>;
  /** Waits for all, then rejects with the first error if there is one. */
  all<T extends readonly unknown[]>(steps: readonly [...{ [K in keyof T]: Promise<T[K]> }]): Promise<T>;
  /**
   * The first results that count, in the order in which they came: `count` of them (default: 1). A failed outcome does not count, nor what `accept`
   * refuses. Delegations in the list that are no longer needed are cancelled. Fewer results than `count` if there are not enough.
   */
  any<T>(steps: readonly Promise<T>[], options?: { count?: number; accept?: (value: T) => boolean }): Promise<T[]>;
  /** Calls `work` for every item, for at most `concurrency` (default: 8) at the same time. Results are in the order of the items. */
  map<T, R>(items: readonly T[], work: (item: T, index: number) => Promise<R>, options?: { concurrency?: number }): Promise<Awaited<R>[]>;
  /**
   * A side effect of your own. Its result is recorded as JSON, and it is not executed again. If the process dies during it, it throws `StepUnknown`, or is
   * executed again if it is `idempotent`. Default for `timeoutMs`: ten minutes.
   */
  step<T>(
    name: string,
    effect: (context: { signal: AbortSignal }) => T | Promise<T>,
    options?: { idempotent?: boolean; timeoutMs?: number },
  ): Promise<Recorded<T>>;
  /** Asks a person: `retinue approve`, a screen, the dashboard. Default for `timeoutMs`: a day. */
  ask(question: string, options?: { timeoutMs?: number }): Promise<FlowAnswer>;
  sleep(ms: number): Promise<void>;
  /** A line in the log of the run. */
  log(text: string): void;
  /** Merges what runs with `isolation: 'worktree'` changed into the files of the workspace, in this order. */
  apply(runs: readonly { runId: string }[]): Promise<AppliedChanges>;
}

/** Of the input: a schema of zod or the like, a JSON Schema, or null for any JSON. */
export type InputSchema<I> = StandardSchema<I> | JsonObject | null;

const marker = 'retinue.flow';

export interface FlowDefinition<I = unknown, O = unknown> {
  readonly kind: typeof marker;
  readonly name: string;
  readonly schema: InputSchema<I>;
  /** Part of the version of a flow that is not in a file. */
  readonly version: string;
  readonly program: (flow: Flow, input: I) => Promise<O>;
}

/** Defines a flow: orchestration as a program whose steps are recorded. Use it as the default export of a file in `.retinue/flows`. */
export function defineFlow<I = unknown, O = unknown>(
  name: string,
  schema: InputSchema<I>,
  program: (flow: Flow, input: I) => Promise<O>,
  options: { version?: string } = {},
): FlowDefinition<I, O> {
  if (typeof name !== 'string' || !/^[\w.-]{1,100}$/.test(name))
    throw new RetinueError('usage', 'the name of a flow has letters, digits, `-`, `_` and `.`, at most 100 characters');
  if (typeof program !== 'function') throw new RetinueError('usage', `flow ${name}: the third argument must be a function`);
  return { kind: marker, name, schema, version: options.version ?? '', program };
}

export function isFlowDefinition(value: unknown): value is FlowDefinition {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === marker;
}

/** Thrown by a step that was cut off: it may or may not have had its effect. For `instanceof`; also true for the same error of another copy of the package. */
// biome-ignore lint/complexity/noStaticOnlyClass: programs use it with `instanceof`
export class StepUnknown {
  static [Symbol.hasInstance](value: unknown): boolean {
    return isRetinueError(value) && value.code === 'step_unknown';
  }
}
