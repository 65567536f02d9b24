// Acceptance checks of a brief. They run after the model says that it is done; a failed one goes back to it, up to a limit.
//
// C1. A command is judged and executed with the rights of the author of the brief: the parent, or the owner for a root. It cannot ask for approval.
// C2. Every check has two facts. A command that was cut off is executed again, unless it says that it is not idempotent: then its result is unknown.
// C3. Only a run whose checks have all passed completes. A check that was refused or has no result fails the run like one that failed.
import { type Check, type CheckStatus, type CommandCheck, checkName } from '../../contract/check.ts';
import type { Ruleset } from '../../contract/grant.ts';
import { LinkedStop } from '../../ports/stop.ts';
import type { AnyTool, ToolContext, ToolResult } from '../../ports/tool.ts';
import { collectClosedPaths } from '../../rules/path-rules.ts';
import { decideCall } from '../../rules/policy.ts';
import { cutBytes, cutMiddle } from '../../text/cut.ts';
import { createDelegation } from '../delegation/delegation.ts';
import { sendMessage } from '../orders.ts';
import { waitWhilePaused } from '../pause.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { type CheckState, checkSender } from '../state/check-state.ts';
import { createFailedEnding, type Ending } from '../state/outcome.ts';
import { thrownToText } from '../tool-calls/call-rights.ts';
import { type ToolSessionState, waitForResult } from '../tool-calls/tool-execution.ts';
import { findCheckProblem, findCheckRights } from './check-rights.ts';
import { describeReview, runReview } from './review.ts';

const defaultRounds = 3;
const maxCommandMs = 3_600_000;
const maxOutputBytes = 8_000;
const maxReasonBytes = 300;

/** Runs the loop, then the checks, until they pass, the limit of rounds is reached or the run ends otherwise. Null if it was stopped. */
export async function runWithChecks(
  run: Run,
  { tools, runLoop }: { tools: ToolSessionState; runLoop: () => Promise<Ending | null> },
  services: Services,
): Promise<Ending | null> {
  const { checks = [], maxCheckRounds = defaultRounds } = run.brief;
  for (;;) {
    const ending = await runLoop();
    if (ending?.code !== null || checks.length === 0) return ending;
    const state = await runRound(run, tools, services);
    if (!state) return null;
    const failures = [...state.results].flatMap(([index, result]) =>
      result?.status === 'failed'
        ? [describeFailure(run, { check: checks[index] as Check, index, round: state.round, output: result.output })]
        : [],
    );
    // Nothing that the model does lets a refused or unknown check pass.
    if (failures.length === 0) return findUndecided(checks, state) ?? ending;
    if (state.round >= maxCheckRounds || state.isReported) return failedEnding(checks, state, failures.length);
    run.isClosing = false;
    const text = `Your work was checked, and this failed. Repair it, then finish again.\n\n${failures.join('\n\n')}`;
    await sendMessage(run, { text, from: checkSender }, services);
  }
}

function failedEnding(checks: Check[], { results }: CheckState, count: number): Ending {
  const what = count === 1 ? 'an acceptance check' : `${count} acceptance checks`;
  const first = checks.findIndex((_, index) => results.get(index)?.status === 'failed');
  const check = checks[first] as Check;
  return createFailedEnding(
    'check_failed',
    `${what} failed: ${checkName(check)}${'agent' in check ? shorten(results.get(first)?.output) : ''}`,
  );
}

/** The ending for a check that was not carried out: the run says that it is done, and nothing has confirmed it. */
function findUndecided(checks: Check[], { results }: CheckState): Ending | null {
  const index = checks.findIndex((_, each) => results.get(each)?.status !== 'passed');
  if (index === -1) return null;
  const how = results.get(index)?.status === 'refused' ? 'was refused' : 'has no result';
  return createFailedEnding(
    'check_failed',
    `an acceptance check ${how}: ${checkName(checks[index] as Check)}${shorten(results.get(index)?.output)}`,
  );
}

function shorten(output = ''): string {
  return output === '' ? '' : `: ${cutBytes(output, maxReasonBytes).text}`;
}

function describeFailure(
  run: Run,
  { check, round, index, output }: { check: Check; round: number; index: number; output: string },
): string {
  return 'command' in check ? `$ ${check.command}\n${output}` : describeReview(run, { check, round, index, output });
}

/** The results of a round. One that this or another process has completed since the last answer is not repeated. */
async function runRound(run: Run, tools: ToolSessionState, services: Services): Promise<CheckState | null> {
  const { state } = run;
  const { checks = [] } = run.brief;
  const isNew = state.checks === null || state.guards.turns > state.checks.turns;
  const round = (state.checks?.round ?? 0) + (isNew ? 1 : 0);
  for (const [index, check] of checks.entries()) {
    const known = isNew ? undefined : state.checks?.results.get(index);
    if (known) continue;
    await waitWhilePaused(run, services);
    if (run.signal.aborted) return null;
    const finish = (status: CheckStatus, output: string) =>
      run.record([{ type: 'check.finished', data: { index, output: services.redact(output.toWellFormed(), true), round, status } }]);
    const isCommand = 'command' in check;
    if (known === null && isCommand && check.idempotent === false) {
      await finish('unknown', 'its process ended while it ran');
      continue;
    }
    const what = services.redact(isCommand ? check.command : check.task, false);
    if (known !== null || isCommand)
      await run.record([{ type: 'check.started', data: { ...(!isCommand && { agent: check.agent }), command: what, index, round } }]);
    const result = isCommand ? await runCommand(run, { check, tools }, services) : await runReview(run, { check, index, round }, services);
    // Cut off by the stop of the run: the process that continues it decides.
    if (!result || run.signal.aborted) return null;
    await finish(result.status, result.output);
  }
  return state.checks;
}

async function runCommand(
  run: Run,
  { check: { command, timeoutMs }, tools }: { check: CommandCheck; tools: ToolSessionState },
  services: Services,
): Promise<{ status: CheckStatus; output: string }> {
  const rights = findCheckRights(run);
  const problem = await findCheckProblem(command, rights);
  if (problem !== null) return { status: 'refused', output: problem.reason };
  const { rulesets } = rights;
  const tool = rights.tool as AnyTool;
  const args = { command };
  // A review before it gave the slot back.
  if (!(await run.slot.ensure())) return { status: 'unknown', output: 'the run was stopped' };
  const { clock, deadlines } = services;
  const limit = Math.min(timeoutMs ?? maxCommandMs, run.grant.limits.toolTimeoutMs.value ?? maxCommandMs, maxCommandMs);
  const stop = new LinkedStop(run.signal);
  const endTimer = deadlines.at(clock.monotonic() + limit, () => stop.abort(new Error('timeout')));
  try {
    const context = createContext(run, { rulesets, signal: stop.toAbortSignal() }, services);
    const work = (async () =>
      tools.session.call({ tool, arguments: args, input: tool.input.parse(args), context }) as Promise<ToolResult>)();
    const { result, isLate } = await waitForResult(work, stop, services);
    const notes = isLate ? [`[the check took longer than ${limit} ms and was stopped]`] : [];
    const output = [...(result ? [result.output] : []), ...notes].join('\n');
    return { status: isLate || result?.isError ? 'failed' : 'passed', output: cutMiddle(output, maxOutputBytes).text };
  } catch (error) {
    return { status: 'failed', output: thrownToText(error) };
  } finally {
    endTimer();
    stop.release();
  }
}

function createContext(run: Run, { rulesets, signal }: { rulesets: Ruleset[]; signal: AbortSignal }, services: Services): ToolContext {
  const { parent } = run;
  return {
    runId: run.id,
    rootId: run.rootId,
    workspace: run.workspace,
    project: run.grant.workspace,
    files: run.files ?? undefined,
    readable: services.settings.readable,
    memo: { get: (key) => run.state.memo.get(key), set: () => {} },
    signal,
    rights: {
      agent: parent?.work?.agent.name ?? '',
      definition: null,
      tools: parent?.work ? parent.grant.tools : [...(run.work?.tools.keys() ?? [])],
      decide: (tool, subjects, options) => decideCall(rulesets, { tool, subjects }, options),
      closedPaths: collectClosedPaths(rulesets),
    },
    delegation: createDelegation(run, { call: null }, services),
    confirmTarget: async () => {},
  };
}
