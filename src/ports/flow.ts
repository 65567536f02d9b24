// Flows: the steps that the kernel gives to a program, and where programs come from.
import type { FlowRef } from '../contract/flow.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { ProgramCheck } from './schema.ts';

/** A person's answer. No answer in time counts as a refusal. */
export interface FlowAnswer {
  approved: boolean;
  by: string;
  /** Given with a refusal. */
  reason: string | null;
}

export interface SideEffectOptions {
  /** It may be executed again if it was cut off. */
  idempotent: boolean;
  timeoutMs: number;
}

export interface DelegationOptions {
  name: string;
  /** The name that records without a hash of the brief may have. */
  formerName?: string | undefined;
  check?: ProgramCheck | undefined;
}

/**
 * The recorded steps of one flow. `at` is the source line of the call. The promises never settle once the flow is stopped; otherwise a step rejects
 * with the error of its side effect, `step_unknown` if it was cut off, or the refusal of its brief.
 */
export interface FlowSteps {
  /** The folder that the run's files are in. */
  workspace: string;
  delegate(brief: unknown, options: DelegationOptions, at: string): { step: number; outcome: Promise<Outcome> };
  /** Cancels the run that a step delegated. */
  cancel(step: number, reason: string): void;
  step(name: string, effect: (signal: AbortSignal) => unknown, options: SideEffectOptions, at: string): Promise<Json | undefined>;
  ask(question: string, options: { timeoutMs: number }, at: string): Promise<FlowAnswer>;
  sleep(ms: number, at: string): Promise<void>;
  log(text: string, at: string): void;
  /** Merges what runs with files of their own changed into the files of the workspace. No step: use it in an idempotent one. */
  apply(runIds: string[]): Promise<AppliedChanges>;
}

/** What became of the changes of runs. */
export interface AppliedChanges {
  applied: string[];
  /** Runs whose changes were left out, with the paths that have changed meanwhile. */
  conflicts: { runId: string; paths: { path: string }[] }[];
  left: string[];
}

/** The program of a flow. Each process that drives the flow calls it from the start, with the same input. */
export interface FlowProgram extends FlowRef {
  /** Throws `invalid_brief` if the input does not match the schema of the flow. */
  checkInput(input: Json): void;
  run(steps: FlowSteps, input: Json): Promise<unknown>;
}

export interface FlowSource {
  /** Rejects with `flow_changed` if the program is gone or has another version, and with `usage` if it may not be run. */
  load(ref: FlowRef): Promise<FlowProgram>;
}
