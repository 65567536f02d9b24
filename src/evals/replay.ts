// Plans how recorded work is judged again. Pure, except for what it is given to read.
//
// A recorded run may be judged by other checks if it did not depend on the old ones and begins from the same files. Everything else is skipped.
import type { Check } from '../contract/check.ts';
import { RetinueError } from '../contract/error.ts';
import { attemptKey, type EvalCase, type EvalInput, type EvalResult, type Recorded } from '../contract/eval.ts';
import { canonical } from '../text/canonical.ts';
import { type EvalRecord, indexResults } from './compare.ts';
import { listAttempts } from './flow.ts';

/** What the log of a run says. */
export interface RecordedRun {
  /** It did its work: it completed, or only its checks failed. */
  isDone: boolean;
  /** In the order of its checks. */
  verdicts: RecordedVerdict[];
}

/** A check with what became of it. The position of a check in a list says nothing about other lists. */
export interface RecordedVerdict {
  check: Check;
  passed: boolean;
  output: string;
}

/** The eval whose runs are judged again. */
export interface EarlierEval {
  id: string;
  record: EvalRecord;
  /** If it judged recorded work itself: the run that judged, by the run that had done the work. */
  judges: ReadonlyMap<string, string>;
}

export type ReadRun = (runId: string) => Promise<RecordedRun>;

/** The input of an eval that judges the runs of `earlier`, for its agents and models. Throws `usage` if there is nothing to judge. */
export async function planReplay(input: EvalInput, earlier: EarlierEval, readRun: ReadRun): Promise<EvalInput> {
  const { id, record } = earlier;
  const { variants, repeats } = record.input;
  const results = indexResults(record.results);
  const recorded: Record<string, Recorded> = {};
  for (const { case: each, agent, model, repeat } of listAttempts({ cases: input.cases, variants, repeats })) {
    const key = { case: each.name, agent, model, repeat };
    const result = results.get(attemptKey(key));
    const old = record.input.cases.find(({ name }) => name === each.name);
    recorded[attemptKey(key)] = await planAttempt({ key, each, old, result }, earlier, readRun);
  }
  if (!Object.values(recorded).some((each) => 'runId' in each || each.result.verdict !== 'skipped')) {
    const [first] = Object.values(recorded);
    const why = first && 'result' in first ? `: ${first.result.reason}` : '';
    throw new RetinueError('usage', `no recorded run can be judged again${why}`);
  }
  return { ...input, variants, repeats, replay: { of: id, recorded } };
}

interface PlannedAttempt {
  key: Pick<EvalResult, 'case' | 'agent' | 'model' | 'repeat'>;
  each: EvalCase;
  old: EvalCase | undefined;
  result: EvalResult | undefined;
}

async function planAttempt({ key, each, old, result }: PlannedAttempt, earlier: EarlierEval, readRun: ReadRun): Promise<Recorded> {
  const skip = (reason: string): Recorded => ({
    result: { ...key, verdict: 'skipped', reason, runId: null, costUsd: null, tokens: null, durationMs: null },
  });
  if (!old || !result?.runId) return skip('there is no recorded run');
  if (old.subject !== each.subject) return skip('its task, limits or fixture have changed since');
  const rounds = Math.max(old.maxCheckRounds ?? 1, each.maxCheckRounds ?? 1);
  if (rounds > 1) return skip('its checks go back to the agent, so its work depends on them');
  if (result.verdict === 'skipped') return skip(result.reason ?? 'it was skipped before');
  const { isDone, verdicts } = await readRun(result.runId);
  // The run itself failed: no check of today changes that.
  if (!isDone) return { result };
  const judge = earlier.judges.get(result.runId);
  const later = judge === undefined ? [] : (await readRun(judge)).verdicts;
  const kept = readKeptVerdicts(old, earlier.record.input.replay?.recorded[attemptKey(key)]);
  return {
    runId: result.runId,
    costUsd: result.costUsd,
    tokens: result.tokens,
    durationMs: result.durationMs,
    kept: keepReviews(each.checks ?? [], [...kept, ...later, ...verdicts]),
  };
}

/** The verdicts that the earlier eval had taken from evals before it. */
function readKeptVerdicts({ checks = [] }: EvalCase, recorded: Recorded | undefined): RecordedVerdict[] {
  if (!recorded || 'result' in recorded) return [];
  return recorded.kept.flatMap(({ index, passed, output }) => {
    const check = checks[index];
    return check ? [{ check, passed, output }] : [];
  });
}

/**
 * Reviews need a model, so a verdict on the same work counts as long as the review is the same. Commands cost nothing. Of several verdicts of the same
 * review the first counts, for one check each.
 */
function keepReviews(checks: Check[], verdicts: RecordedVerdict[]) {
  const left = [...verdicts];
  return checks.flatMap((check, index) => {
    const at = 'agent' in check ? left.findIndex((each) => canonical(each.check) === canonical(check)) : -1;
    const [verdict] = at === -1 ? [] : left.splice(at, 1);
    return verdict ? [{ index, passed: verdict.passed, output: verdict.output }] : [];
  });
}
