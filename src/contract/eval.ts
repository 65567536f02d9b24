// Evals: cases that are run against agents and models. The file as people write it, the input of the flow, and its results.
import { z } from 'zod';
import { Brief } from './brief.ts';
import { Check } from './check.ts';
import { Hash, RunId } from './ids.ts';
import type { Json } from './json.ts';
import { Tokens } from './outcome.ts';

const name = z.string().trim().min(1).max(120);

/** `recorded/RUN` is the model of a case that is judged again: it repeats the answer of that run. */
export const recordedPrefix = 'recorded/';

/** What the answer must be, beside the checks. */
export const Expectation = z.strictObject({
  /** Texts that must all be part of the answer, or must not be. Upper and lower case are the same. */
  includes: z.array(z.string().min(1).max(2_000)).max(50).optional(),
  excludes: z.array(z.string().min(1).max(2_000)).max(50).optional(),
  /** The structured result must be equal to this. */
  data: z.custom<Json>().optional(),
});
export type Expectation = z.infer<typeof Expectation>;

/** A brief, with what decides whether its outcome is good. */
const caseFields = {
  name,
  ...Brief.pick({ task: true, context: true, files: true, agent: true, tools: true, rules: true, limits: true, result: true }).shape,
  checks: z.array(Check).max(20).optional(),
  maxCheckRounds: z.int().min(1).max(20).optional(),
  expect: Expectation.optional(),
  /** A folder whose files each run gets a copy of; none: the run begins with an empty folder. */
  fixture: z.string().min(1).max(4096).optional(),
};

export const EvalFile = z.strictObject({
  name: name.optional(),
  agents: z.array(z.string().min(1).max(200)).min(1).max(20).optional(),
  models: z.array(z.string().min(1).max(500)).min(1).max(20).optional(),
  repeats: z.int().min(1).max(100).optional(),
  /** For cases that set none. */
  limits: Brief.shape.limits,
  cases: z.array(z.strictObject(caseFields)).min(1).max(500),
});
export type EvalFile = z.infer<typeof EvalFile>;

/** `subject`: a hash of everything but what judges it, with the files of the fixture. */
export const EvalCase = z.strictObject({ ...caseFields, fixture: z.string(), subject: Hash });
export type EvalCase = z.infer<typeof EvalCase>;

/** Null: the one of the case, or of the configuration. */
export const Variant = z.strictObject({ agent: z.string().nullable(), model: z.string().nullable() });
export type Variant = z.infer<typeof Variant>;

export const Verdict = z.enum(['passed', 'failed', 'error', 'skipped']);
/** `error`: it could not be judged. `skipped`: recorded work that cannot be judged again. */
export type Verdict = z.infer<typeof Verdict>;

/** One run of a case. `repeat` counts from 1. */
export const EvalResult = z.strictObject({
  case: z.string(),
  ...Variant.shape,
  repeat: z.int().min(1),
  verdict: Verdict,
  /** Why it did not pass; null if it did. */
  reason: z.string().nullable(),
  /** The run that did the work. */
  runId: RunId.nullable(),
  costUsd: z.number().nullable(),
  tokens: Tokens.nullable(),
  durationMs: z.int().nullable(),
});
export type EvalResult = z.infer<typeof EvalResult>;

/** What an attempt begins with, if it judges recorded work: a run, or a result that needs no run. */
export const Recorded = z.union([
  z.strictObject({
    runId: RunId,
    /** What the recorded run used: the work is not done again. */
    costUsd: z.number().nullable(),
    tokens: Tokens.nullable(),
    durationMs: z.int().nullable(),
    /** Checks of the case, by index, whose recorded result counts. */
    kept: z.array(z.strictObject({ index: z.int(), passed: z.boolean(), output: z.string() })),
  }),
  z.strictObject({ result: EvalResult }),
]);
export type Recorded = z.infer<typeof Recorded>;

/** The input of the flow `retinue.eval`. */
export const EvalInput = z.strictObject({
  name,
  /** The file as it was named first: evals of the same file are compared. */
  file: z.string(),
  cases: z.array(EvalCase),
  variants: z.array(Variant),
  repeats: z.int().min(1),
  concurrency: z.int().min(1).max(256),
  /** The eval whose runs are judged again, with what each attempt has of it, by `attemptKey`. */
  replay: z.strictObject({ of: RunId, recorded: z.record(z.string(), Recorded) }).optional(),
});
export type EvalInput = z.infer<typeof EvalInput>;

export const EvalReport = z.strictObject({ results: z.array(EvalResult) });
export type EvalReport = z.infer<typeof EvalReport>;

/** The name of the flow that runs evals. */
export const evalFlowName = 'retinue.eval';

export function attemptKey({ case: name, agent, model, repeat }: Pick<EvalResult, 'case' | 'agent' | 'model' | 'repeat'>): string {
  return JSON.stringify([name, agent, model, repeat]);
}
