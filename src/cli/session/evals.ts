// Evals in the database: roots with the flow `retinue.eval`, newest first.
import type { Api } from '../../api/api.ts';
import { EvalInput, EvalReport, type EvalResult, evalFlowName } from '../../contract/eval.ts';
import type { Fact } from '../../contract/fact.ts';
import type { Grant } from '../../contract/grant.ts';
import type { RecordedOutcome } from '../../contract/outcome.ts';
import type { EvalRecord } from '../../evals/compare.ts';
import { findIdleEnds, measureIdleTime, type ReadLog } from '../../evals/idle-time.ts';
import type { EarlierEval, RecordedRun } from '../../evals/replay.ts';

/** The label of a root: it finds evals without reading every log. */
export function evalLabel(name: string): string {
  return `eval ${name}`.slice(0, 200);
}

export interface StoredEval {
  runId: string;
  input: EvalInput;
  createdAt: string;
  /** Rules, limits and budgets that it began with and keeps. */
  grant: Grant;
  /** Null while it has not ended. */
  outcome: RecordedOutcome | null;
  /** Of an eval that has completed. */
  results: EvalResult[];
  /** Attempts that have ended. */
  done: number;
  /** Of an eval that judges recorded work: the run that judged, by the run that had done the work. */
  judges: ReadonlyMap<string, string>;
}

/** `name`: only those of this name. */
export async function listEvals(api: Api, name?: string): Promise<StoredEval[]> {
  const roots = (await api.ps({ all: true, roots: true })).filter(
    ({ kind, label }) => kind === 'flow' && (name === undefined ? label?.startsWith('eval ') : label === evalLabel(name)),
  );
  const found: StoredEval[] = [];
  for (const { runId } of roots) {
    const read = await readEval(api, runId);
    if (read && (name === undefined || read.input.name === name)) found.push(read);
  }
  return found;
}

/** Null if the run is no eval, or was erased. */
export async function readEval(api: Api, runId: string): Promise<StoredEval | null> {
  const [first] = await api.logs(runId, { limit: 1 });
  if (!first || !('data' in first) || first.type !== 'run.created' || first.data.flow?.name !== evalFlowName) return null;
  const input = EvalInput.safeParse(first.data.flow.input);
  if (!input.success) return null;
  const facts = (await api.logs(runId)) as Fact[];
  const ended = facts.find((fact) => fact.type === 'run.ended');
  const outcome = ended?.type === 'run.ended' ? ended.data.outcome : null;
  const report = EvalReport.safeParse(outcome?.data);
  return {
    runId,
    input: input.data,
    createdAt: first.at,
    grant: first.data.grant,
    outcome,
    results: report.success ? await withoutBreaks(report.data.results, facts, api) : [],
    done: facts.filter((fact) => fact.type === 'child.ended').length,
    judges: new Map(
      facts.flatMap((fact) =>
        fact.type === 'child.created' && fact.data.continues !== undefined ? [[fact.data.continues, fact.data.childId] as const] : [],
      ),
    ),
  };
}

/** The results with the times in which the runs were worked on: the time of a run also counts while nothing drove it. */
async function withoutBreaks(results: EvalResult[], facts: Fact[], api: Api): Promise<EvalResult[]> {
  const ends = findIdleEnds(facts);
  if (ends.length === 0) return results;
  const outcomes = new Map(facts.flatMap((fact) => (fact.type === 'child.ended' ? [[fact.data.childId, fact.data.outcome] as const] : [])));
  const readLog: ReadLog = async (runId) => (await api.logs(runId)) as Fact[];
  return Promise.all(
    results.map(async (result) => {
      const outcome = result.runId === null ? undefined : outcomes.get(result.runId);
      if (!outcome || result.durationMs === null) return result;
      return { ...result, durationMs: Math.max(0, result.durationMs - (await measureIdleTime(outcome, ends, readLog))) };
    }),
  );
}

export function isFinished({ outcome, results }: StoredEval): boolean {
  return outcome?.success === true && results.length > 0;
}

/** Whether a case was judged. Others are not compared with an eval in which none was, and do not judge its runs again. */
export function hasVerdict({ results }: StoredEval): boolean {
  return results.some(({ verdict }) => verdict === 'passed' || verdict === 'failed');
}

export function toRecord({ input, results }: StoredEval): EvalRecord {
  return { input, results };
}

export function toEarlierEval(stored: StoredEval): EarlierEval {
  return { id: stored.runId, record: toRecord(stored), judges: stored.judges };
}

/** What the log says about a run that is to be judged again. */
export async function readRecordedRun(api: Api, runId: string): Promise<RecordedRun> {
  const facts = ((await api.logs(runId)) as Fact[]).filter((fact) => 'data' in fact);
  const [created] = facts;
  const checks = created?.type === 'run.created' ? (created.data.brief.checks ?? []) : [];
  const ended = facts.find((fact) => fact.type === 'run.ended');
  const outcome = ended?.type === 'run.ended' ? ended.data.outcome : null;
  return {
    isDone: outcome?.success === true || outcome?.error?.code === 'check_failed',
    verdicts: facts.flatMap((fact) => {
      const check = fact.type === 'check.finished' ? checks[fact.data.index] : undefined;
      if (fact.type !== 'check.finished' || !check) return [];
      const { status, output } = fact.data;
      return status === 'passed' || status === 'failed' ? [{ check, passed: status === 'passed', output }] : [];
    }),
  };
}
