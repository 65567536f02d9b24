// The flow of evals: delegates each attempt of each case, and judges what comes back.
//
// The steps of a recorded eval must be the same in every later release, or `version` must change: a resumed eval then refuses to continue.
import type { Check } from '../contract/check.ts';
import { checkName } from '../contract/check.ts';
import { readCheckResults } from '../contract/check-artifact.ts';
import { isRetinueError } from '../contract/error.ts';
import {
  attemptKey,
  type EvalCase,
  EvalInput,
  type EvalReport,
  type EvalResult,
  type Expectation,
  evalFlowName,
  type Recorded,
  type Variant,
} from '../contract/eval.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import { defineFlow, type Flow, type FlowBrief, type FlowOutcome } from '../flows/definition.ts';
import { definitionToProgram } from '../flows/program.ts';
import type { FlowProgram } from '../ports/flow.ts';
import { canonical, sha256 } from '../text/canonical.ts';
import { hasTimedOutIdle, type ReadLog } from './idle-time.ts';

const version = sha256(`${evalFlowName} 2`);

/** The program has a version of its own, so that an eval survives an update that leaves its steps alone. */
export async function createEvalProgram(readLog: ReadLog): Promise<FlowProgram> {
  const definition = defineFlow<EvalInput, EvalReport>(evalFlowName, EvalInput, async (flow, input) => {
    const attempts = listAttempts(input);
    const results = await flow.map(attempts, (attempt) => runAttempt(flow, input, attempt, readLog), { concurrency: input.concurrency });
    return { results };
  });
  return definitionToProgram(definition as never, { file: null, version, isBuiltIn: true });
}

interface Attempt extends Variant {
  case: EvalCase;
  repeat: number;
}

/** Repeats last, so that a first impression of every case comes early. */
export function listAttempts({ cases, variants, repeats }: Pick<EvalInput, 'cases' | 'variants' | 'repeats'>): Attempt[] {
  return Array.from({ length: repeats }, (_, index) =>
    cases.flatMap((each) => variants.map((variant) => ({ ...variant, case: each, repeat: index + 1 }))),
  ).flat();
}

async function runAttempt(flow: Flow, input: EvalInput, attempt: Attempt, readLog: ReadLog): Promise<EvalResult> {
  const { case: each, agent, model, repeat } = attempt;
  const key = { case: each.name, agent, model, repeat };
  const recorded = input.replay?.recorded[attemptKey(key)] ?? null;
  if (recorded && 'result' in recorded) return recorded.result;
  try {
    const brief = recorded ? createJudgingBrief(input, attempt, recorded) : createWorkBrief(input, attempt);
    const outcome = await delegateWithFullTime(flow, brief, readLog);
    const used = recorded ?? outcome;
    return {
      ...key,
      ...judgeOutcome(outcome, each, recorded),
      runId: used.runId,
      costUsd: used.costUsd,
      tokens: used.tokens,
      durationMs: used.durationMs,
    };
  } catch (error) {
    if (!isRetinueError(error)) throw error;
    const reason = `not started: ${error.code}: ${error.message}`;
    return { ...key, verdict: 'error', reason, runId: null, costUsd: null, tokens: null, durationMs: null };
  }
}

/** Delegates again if a deadline passed because of idle time, which says nothing about the agent. */
async function delegateWithFullTime(flow: Flow, brief: FlowBrief<Json>, readLog: ReadLog): Promise<FlowOutcome<Json>> {
  for (;;) {
    const outcome = await flow.delegate<Json>(brief);
    if (outcome.terminated !== 'deadline' && !isUndecided(outcome)) return outcome;
    // Recorded: an eval that is resumed must find the step by this name.
    const name = `look for a break in ${brief.label}`;
    if (!(await flow.step(name, () => hasTimedOutIdle(outcome, readLog), { idempotent: true }))) return outcome;
  }
}

function createWorkBrief(input: EvalInput, attempt: Attempt): FlowBrief<Json> {
  const { case: each, agent, model } = attempt;
  const { name: _name, subject: _subject, expect: _expect, maxCheckRounds = 1, result, ...brief } = each;
  return {
    ...brief,
    ...(result && { result }),
    maxCheckRounds,
    label: attemptLabel(input, attempt),
    ...(agent !== null && { agent }),
    ...(model !== null && { model }),
  };
}

/** A run that begins with the files and the answer of a recorded one, and is judged by the checks of today. */
function createJudgingBrief(input: EvalInput, attempt: Attempt, { runId, kept }: Extract<Recorded, { runId: string }>): FlowBrief<Json> {
  const { task, fixture, result, checks = [] } = attempt.case;
  const open = checks.filter((_, index) => !kept.some((each) => each.index === index));
  return {
    agent: 'general',
    continues: runId,
    fixture,
    label: attemptLabel(input, attempt),
    maxCheckRounds: 1,
    model: `recorded/${runId}`,
    task,
    ...(open.length > 0 && { checks: open }),
    ...(result && { result }),
  };
}

/** Names are cut on a screen, so a model is only its last part. */
function attemptLabel({ repeats, variants }: EvalInput, { case: each, agent, model, repeat }: Attempt): string {
  const isSeveral = (key: 'agent' | 'model') => new Set(variants.map((variant) => variant[key])).size > 1;
  const parts = [each.name, ...(isSeveral('agent') ? [agent] : []), ...(isSeveral('model') ? [model?.split('/').at(-1) ?? 'default'] : [])];
  return [...parts, ...(repeats > 1 ? [`${repeat}/${repeats}`] : [])].join(' · ').slice(0, 200);
}

/** Errors that say nothing about the agent: the case could not be worked on, or not be judged. */
const unrelatedErrors: ReadonlySet<string> = new Set([
  'agent_program',
  'auth',
  'cancelled',
  'client_gone',
  'crashed',
  'fenced',
  'internal',
  'provider',
  'provider_timeout',
  'rate_limited',
  'script',
  'store_busy',
  'store_io',
  'workspace',
]);

function judgeOutcome(outcome: FlowOutcome<Json>, each: EvalCase, recorded: Extract<Recorded, { runId: string }> | null): Judgement {
  const { success, status, error, turns, notices = [] } = outcome;
  const misfit = recorded && notices.find((notice) => notice.includes('do not fit into the files'));
  if (misfit) return { verdict: 'error', reason: misfit };
  if (!success) {
    const reason = error === null ? status : `${error.code}: ${error.message}`;
    if (status === 'exhausted' && turns === 0) return { verdict: 'error', reason: `${reason}; the budget of the eval is used up` };
    return { verdict: error !== null && (unrelatedErrors.has(error.code) || isUndecided(outcome)) ? 'error' : 'failed', reason };
  }
  const lost = recorded?.kept.find(({ passed }) => !passed);
  if (lost) return { verdict: 'failed', reason: `${checkName(each.checks?.[lost.index] as Check)}: ${lost.output}` };
  const missing = findMismatch(outcome, each.expect ?? {});
  return missing === null ? { verdict: 'passed', reason: null } : { verdict: 'failed', reason: missing };
}

/** No check has failed, but one was refused or has no result. */
function isUndecided(outcome: FlowOutcome<Json>): boolean {
  const results = readCheckResults(outcome);
  return outcome.error?.code === 'check_failed' && results.length > 0 && !results.some(({ status }) => status === 'failed');
}

type Judgement = Pick<EvalResult, 'verdict' | 'reason'>;

function findMismatch({ summary, data }: Outcome, { includes = [], excludes = [], ...expected }: Expectation): string | null {
  const answer = summary.toLowerCase();
  const missing = includes.find((text) => !answer.includes(text.toLowerCase()));
  if (missing !== undefined) return `the answer does not include ${JSON.stringify(missing)}`;
  const unwanted = excludes.find((text) => answer.includes(text.toLowerCase()));
  if (unwanted !== undefined) return `the answer includes ${JSON.stringify(unwanted)}`;
  if (expected.data !== undefined && canonical(data ?? null) !== canonical(expected.data)) return 'the result is not the expected one';
  return null;
}
