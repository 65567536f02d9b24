// What the results of an eval say: rates for each agent and model, and what has changed since an earlier eval. Pure.
import { attemptKey, type EvalInput, type EvalResult, type Variant } from '../contract/eval.ts';
import { canonical } from '../text/canonical.ts';

export interface Rate {
  passed: number;
  /** Attempts that were judged, errors included. */
  judged: number;
  errors: number;
  skipped: number;
  /** Null without a judged attempt. */
  passRate: number | null;
  /** Runs that cost and time are of. */
  runs: number;
  /** Null if a price is unknown. */
  costUsd: number | null;
  /** Sum of the times of all runs. */
  durationMs: number;
}

export interface CaseRow extends Variant {
  case: string;
  rate: Rate;
  /** Why attempts did not pass, without repetition, each with the first run that it is about. */
  reasons: { reason: string; runId: string | null }[];
  /** The rate in the earlier eval; null if it had none. */
  before: Rate | null;
  change: 'better' | 'worse' | 'same' | 'new';
  /** The definition of the case differs from that of the earlier eval. */
  isEdited: boolean;
}

export interface VariantRow extends Variant {
  rate: Rate;
  /** Of the cases that both evals have judged: now, and in the earlier eval. */
  compared: Rate;
  before: Rate | null;
}

export interface EvalSummary {
  total: Rate;
  variants: VariantRow[];
  cases: CaseRow[];
  /** Cases of the earlier eval that this one does not have. */
  gone: string[];
}

/** An eval with its results so far. */
export interface EvalRecord {
  input: EvalInput;
  results: EvalResult[];
}

export function summarise(current: EvalRecord, earlier: EvalRecord | null): EvalSummary {
  const { input, results } = current;
  const known = earlier?.results ?? [];
  const isVariant =
    ({ agent, model }: Variant) =>
    (each: Variant) =>
      each.agent === agent && each.model === model;
  const before = (filtered: EvalResult[]) => (filtered.length === 0 ? null : rateOf(filtered));
  const cases = input.cases.flatMap((each) =>
    input.variants.map((variant): CaseRow => {
      const own = results.filter((result) => result.case === each.name).filter(isVariant(variant));
      const old = before(known.filter((result) => result.case === each.name).filter(isVariant(variant)));
      const rate = rateOf(own);
      const was = earlier?.input.cases.find(({ name }) => name === each.name);
      return {
        case: each.name,
        ...variant,
        rate,
        reasons: listReasons(own),
        before: old,
        change: compareRates(rate, old),
        isEdited: was !== undefined && !isSameCase(was, each),
      };
    }),
  );
  return {
    total: rateOf(results),
    variants: input.variants.map((variant) => {
      const comparable = cases.filter((each) => isVariant(variant)(each) && each.rate.passRate !== null && each.before?.passRate != null);
      const names = new Set(comparable.map((each) => each.case));
      const isComparable = (each: EvalResult) => isVariant(variant)(each) && names.has(each.case);
      return {
        ...variant,
        rate: rateOf(results.filter(isVariant(variant))),
        compared: rateOf(results.filter(isComparable)),
        before: before(known.filter(isComparable)),
      };
    }),
    cases,
    gone: (earlier?.input.cases ?? []).map(({ name }) => name).filter((name) => !input.cases.some((each) => each.name === name)),
  };
}

function listReasons(results: readonly EvalResult[]): CaseRow['reasons'] {
  const seen = new Map<string, string | null>();
  for (const { reason, runId } of results) if (reason !== null && !seen.has(reason)) seen.set(reason, runId);
  return [...seen].map(([reason, runId]) => ({ reason, runId }));
}

export function rateOf(results: readonly EvalResult[]): Rate {
  const count = (verdict: EvalResult['verdict']) => results.filter((each) => each.verdict === verdict).length;
  const [passed, errors, skipped] = [count('passed'), count('error'), count('skipped')];
  const judged = results.length - skipped;
  const worked = results.filter(({ runId }) => runId !== null);
  return {
    passed,
    judged,
    errors,
    skipped,
    passRate: judged === 0 ? null : passed / judged,
    runs: worked.length,
    costUsd: worked.every(({ costUsd }) => costUsd !== null) ? worked.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0) : null,
    durationMs: worked.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0),
  };
}

function compareRates({ passRate }: Rate, old: Rate | null): CaseRow['change'] {
  if (passRate === null || old === null || old.passRate === null) return 'new';
  if (passRate === old.passRate) return 'same';
  return passRate > old.passRate ? 'better' : 'worse';
}

function isSameCase(a: EvalInput['cases'][number], b: EvalInput['cases'][number]): boolean {
  const judged = ({ subject, checks = [], expect = {}, maxCheckRounds = 1 }: typeof a) =>
    canonical([subject, checks, expect, maxCheckRounds]);
  return judged(a) === judged(b);
}

/** The lowest pass rate of all agents and models; null if nothing was judged. */
export function lowestRate({ variants }: EvalSummary): number | null {
  const rates = variants.flatMap(({ rate }) => (rate.passRate === null ? [] : [rate.passRate]));
  return rates.length === 0 ? null : Math.min(...rates);
}

/** The results by attempt. */
export function indexResults(results: readonly EvalResult[]): Map<string, EvalResult> {
  return new Map(results.map((result) => [attemptKey(result), result]));
}
