// Evals in the database: roots with the flow `retinue.eval`, newest first.
import type { Api } from '../../api/api.ts';
import { EvalInput, EvalReport, type EvalResult, evalFlowName } from '../../contract/eval.ts';
import type { Fact } from '../../contract/fact.ts';
import type { RecordedOutcome } from '../../contract/outcome.ts';
import type { EvalRecord } from '../../evals/compare.ts';
import type { RecordedRun } from '../../evals/replay.ts';

/** The label of a root: it finds evals without reading every log. */
export function evalLabel(name: string): string {
  return `eval ${name}`.slice(0, 200);
}

export interface StoredEval {
  runId: string;
  input: EvalInput;
  createdAt: string;
  /** Null while it has not ended. */
  outcome: RecordedOutcome | null;
  /** Of an eval that has completed. */
  results: EvalResult[];
  /** Attempts that have ended. */
  done: number;
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
    outcome,
    results: report.success ? report.data.results : [],
    done: facts.filter((fact) => fact.type === 'child.ended').length,
  };
}

export function isFinished({ outcome, results }: StoredEval): boolean {
  return outcome?.success === true && results.length > 0;
}

export function toRecord({ input, results }: StoredEval): EvalRecord {
  return { input, results };
}

/** What the log says about a run that is to be judged again. */
export async function readRecordedRun(api: Api, runId: string): Promise<RecordedRun> {
  const facts = ((await api.logs(runId)) as Fact[]).filter((fact) => 'data' in fact);
  const ended = facts.find((fact) => fact.type === 'run.ended');
  const outcome = ended?.type === 'run.ended' ? ended.data.outcome : null;
  return {
    isDone: outcome?.success === true || outcome?.error?.code === 'check_failed',
    checks: facts.flatMap((fact) => (fact.type === 'check.finished' ? [fact.data] : [])),
  };
}
