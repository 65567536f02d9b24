// Acceptance checks of a brief. They run after the model says that it is done; a failed one goes back to it, up to a limit.
//
// C1. A command is judged and executed with the rights of whoever wrote the brief: the parent, or the owner for a root. It cannot ask for approval.
// C2. Every check has two facts. A command that was cut off is executed again only if it is idempotent; otherwise its result is unknown.
import { type Check, type CheckStatus, type CommandCheck, checkName } from '../contract/check.ts';
import type { Ruleset } from '../contract/grant.ts';
import type { ToolContext } from '../ports/tool.ts';
import { collectClosedPaths } from '../rules/path-rules.ts';
import { decideCall } from '../rules/policy.ts';
import { cutBytes, cutMiddle } from '../text/cut.ts';
import { narrowingRulesets } from './admitted-tools.ts';
import { type CheckState, checkSender } from './check-state.ts';
import { createDelegation } from './delegation.ts';
import { runEffect } from './flow-steps.ts';
import { readSubjects, thrownToText } from './judge.ts';
import { sendMessage } from './orders.ts';
import { type Ending, failed } from './outcome.ts';
import { waitWhilePaused } from './pause.ts';
import { describeReview, runReview } from './review.ts';
import { collectRulesets, type Run, rulesetsForChildren } from './run.ts';
import type { Services } from './services.ts';
import type { ToolSessionState } from './tool-execution.ts';

const defaultRounds = 3;
const maxOutputBytes = 8_000;
const maxReasonBytes = 300;

/** Runs the loop, then the checks, until they pass, the limit of rounds is reached or the run ends otherwise. Null if it was stopped. */
export async function runWithChecks(
  run: Run,
  tools: ToolSessionState,
  services: Services,
  runLoop: () => Promise<Ending | null>,
): Promise<Ending | null> {
  const { checks = [], maxCheckRounds = defaultRounds } = run.brief;
  for (;;) {
    const ending = await runLoop();
    if (ending?.code !== null || checks.length === 0) return ending;
    const state = await runRound(run, checks, tools, services);
    if (!state) return null;
    const failures = [...state.results].flatMap(([index, result]) =>
      result?.status === 'failed' ? [describeFailure(run, checks[index] as Check, { index, round: state.round }, result.output)] : [],
    );
    if (failures.length === 0) return ending;
    if (state.round >= maxCheckRounds || state.isReported) {
      const what = failures.length === 1 ? 'an acceptance check' : `${failures.length} acceptance checks`;
      const first = checks.findIndex((_, index) => state.results.get(index)?.status === 'failed');
      const check = checks[first] as Check;
      const reason = 'agent' in check ? `: ${cutBytes(state.results.get(first)?.output ?? '', maxReasonBytes).text}` : '';
      return failed('check_failed', `${what} failed: ${checkName(check)}${reason}`);
    }
    run.isClosing = false;
    const text = `Your work was checked, and this failed. Repair it, then finish again.\n\n${failures.join('\n\n')}`;
    await sendMessage(run, { text, from: checkSender }, services);
  }
}

function describeFailure(run: Run, check: Check, at: { round: number; index: number }, output: string): string {
  return 'command' in check ? `$ ${check.command}\n${output}` : describeReview(run, check, at, output);
}

/** The results of a round. One that this or another process has completed since the last answer is not repeated. */
async function runRound(run: Run, checks: Check[], tools: ToolSessionState, services: Services): Promise<CheckState | null> {
  const { state } = run;
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
    if (known === null && isCommand && !check.idempotent) {
      await finish('unknown', 'its process ended while it ran');
      continue;
    }
    const what = services.redact(isCommand ? check.command : check.task, false);
    if (known !== null || isCommand)
      await run.record([{ type: 'check.started', data: { ...(!isCommand && { agent: check.agent }), command: what, index, round } }]);
    const result = isCommand ? await runCommand(run, check, tools, services) : await runReview(run, check, { index, round }, services);
    // Cut off by the stop of the run: whoever continues it decides.
    if (!result || run.signal.aborted) return null;
    await finish(result.status, result.output);
  }
  return state.checks;
}

async function runCommand(
  run: Run,
  { command, timeoutMs }: CommandCheck,
  tools: ToolSessionState,
  services: Services,
): Promise<{ status: CheckStatus; output: string }> {
  const tool = run.work?.tools.get('bash');
  if (!tool || (run.parent?.work && !run.parent.grant.tools.includes('bash')))
    return { status: 'refused', output: 'whoever wrote the brief has no shell' };
  await tool.prepare?.().catch(() => {});
  const args = { command };
  const read = readSubjects(tool, args, run);
  if (!('subjects' in read)) return { status: 'refused', output: 'denied' in read ? read.denied : read.problem };
  const rulesets = authorRulesets(run);
  const { action, rule, owner } = decideCall(rulesets, { tool: 'bash', subjects: read.subjects });
  if (action !== 'allow')
    return {
      status: 'refused',
      output: `bash is not allowed for it (${rule === null ? 'no rule allows it' : `rule \`${rule}\` of ${owner}`})`,
    };
  // A review before it gave the slot back.
  if (!(await run.slot.ensure())) return { status: 'unknown', output: 'the run was stopped' };
  const limit = Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, run.grant.limits.toolTimeoutMs.value ?? Number.POSITIVE_INFINITY);
  try {
    const result = await runEffect(
      (signal) =>
        tools.session.call({
          tool,
          arguments: args,
          input: tool.input.parse(args),
          context: createContext(run, rulesets, signal, services),
        }),
      { name: command, timeoutMs: Math.min(limit, 3_600_000), signal: run.signal },
      services,
    );
    const { output, isError = false } = result as { output: string; isError?: boolean };
    return { status: isError ? 'failed' : 'passed', output: cutMiddle(output, maxOutputBytes).text };
  } catch (error) {
    return { status: 'failed', output: thrownToText(error) };
  }
}

/** The rules of whoever wrote the brief. For a root, these are its rules without those of its agent and its brief. */
function authorRulesets(run: Run): Ruleset[] {
  const { parent, work, brief, dialect, grant, state } = run;
  if (parent) return parent.work ? collectRulesets(parent) : rulesetsForChildren(parent);
  const kept = grant.rulesets.length - (work ? narrowingRulesets(brief, work.agent, dialect).length : 0);
  return [...grant.rulesets.filter(({ kind }, index) => kind === 'owner' || index < kept), ...state.rights.narrowed];
}

function createContext(run: Run, rulesets: Ruleset[], signal: AbortSignal, services: Services): ToolContext {
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
    delegation: createDelegation(run, null, services),
    confirmTarget: async () => {},
  };
}
