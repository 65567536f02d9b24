// The driver of external agents: programs such as Claude Code that do the work of a run. It sends prompts and waits for the agent's turns; what the
// agent does in a turn is recorded by `turn.ts`. Between prompts, `nextStep` decides, as in the model loop.
//
// X1. A prompt is durable before it is sent. Messages wait for the next prompt; there are never two prompts at once.
// X2. A refusal of the model gate decides the outcome, whatever the agent says.
// X3. When the driver returns, none of the agent's processes exists.
import { RetinueError } from '../../contract/error.ts';
import type { PinnedParts } from '../../conversation/request.ts';
import type { ExternalSession, ExternalTurn } from '../../ports/external-agent.ts';
import { decideCall } from '../../rules/policy.ts';
import { runWithChecks } from '../checks/checks.ts';
import { loadStartedRun, openToolSession, pinAndStart, prepareWork } from '../drivers.ts';
import type { Driver } from '../lifecycle.ts';
import { waitWhilePaused } from '../pause.ts';
import type { ModelWork, Run } from '../run.ts';
import { collectRulesets } from '../run-rights.ts';
import type { Services } from '../services.ts';
import { limitEnding, nextStep } from '../state/next-step.ts';
import { completedEnding, createFailedEnding, type Ending } from '../state/outcome.ts';
import { currentCalls, startedFact } from '../state/state.ts';
import { toolFinishedFact } from '../tool-calls/judge.ts';
import { removeEndedHomes } from './homes.ts';
import { composeFirstPrompt, composeNextPrompt } from './prompt.ts';
import { createTurnRecorder, type TurnRecorder } from './turn.ts';

/** How long an agent may take to end its turn after it was asked to. */
const cancelMs = 2000;
/** Turns in a row without any answer of the model. */
const maxSilentTurns = 2;

export const driveExternal: Driver = async (run, services) => {
  if (!(await prepareWork(run, services))) return null;
  const started = startedFact(run.state);
  const pinned = started ? await loadStartedRun(run, started, services) : await pinAndStart(run, services, { isExternal: true });
  const recorder = createTurnRecorder(run, services);
  let session: ExternalSession | null = null;
  try {
    finishOpenCalls(run, 'the process that drove the agent has ended before this call was made');
    if (services.homes) await removeEndedHomes(services.homes, services.store);
    const opened = await openSession(run, recorder, services);
    session = opened;
    await run.record([{ type: 'session.opened', data: opened.opened }]);
    const turns: AgentTurns = { session: opened, recorder, services, past: pinned.history, silent: 0, isFirst: true };
    const ending = await withChecks(run, services, () => takeTurns(run, turns));
    return ending && { ending };
  } catch (error) {
    if (run.signal.aborted) return null;
    throw error;
  } finally {
    run.clearDeadline();
    recorder.close();
    await session?.close();
    // Model calls that were cut off have been charged by now.
    await recorder.flushed();
  }
};

function openSession(run: Run, recorder: TurnRecorder, services: Services): Promise<ExternalSession> {
  const { externals } = services;
  const { agent, model } = run.work as ModelWork;
  if (!externals || !agent.runs) throw new RetinueError('agent_program', 'external agents are not available in this process');
  const isAllowed = (tool: string) => decideCall(collectRulesets(run), { tool, subjects: [] }).action === 'allow';
  return externals.open({
    runId: run.id,
    rootId: run.rootId,
    external: agent.runs,
    workspace: run.workspace,
    files: run.files,
    model: agent.runs.login === 'own' ? null : model,
    canWrite: run.grant.tools.some((tool) => ['write', 'edit', 'bash'].includes(tool)),
    canUseNetwork: isAllowed('network'),
    canSearch: run.grant.tools.includes('websearch') && isAllowed('websearch'),
    schema: run.brief.result?.schema ?? null,
    session: run.state.session?.session ?? null,
    handlers: recorder.handlers,
    signal: run.signal.toAbortSignal(),
  });
}

/** Commands that decide whether the run is done are executed here, not by the agent. */
async function withChecks(run: Run, services: Services, takeAll: () => Promise<Ending | null>): Promise<Ending | null> {
  if (!run.brief.checks?.length) return takeAll();
  const tools = openToolSession(run, services);
  try {
    return await runWithChecks(run, { tools, runLoop: takeAll }, services);
  } finally {
    await tools.session.close();
  }
}

/** What the driver keeps between the turns of an agent. */
interface AgentTurns {
  session: ExternalSession;
  recorder: TurnRecorder;
  services: Services;
  /** The conversation that this run continues. */
  past: PinnedParts['history'];
  /** Turns in a row without any answer of the model. */
  silent: number;
  /** Whether this process has sent no prompt yet. */
  isFirst: boolean;
}

async function takeTurns(run: Run, turns: AgentTurns): Promise<Ending | null> {
  const { state } = run;
  for (;;) {
    await waitWhilePaused(run, turns.services);
    if (run.signal.aborted || !(await run.slot.ensure())) return null;
    const step = nextStep(state);
    if (step.do === 'end') return end(run, step.ending);
    if (step.do === 'park') return end(run, completedEnding);
    if (step.do === 'nudge') {
      void run.record([step.draft]);
      continue;
    }
    if (step.do !== 'ask') throw new RetinueError('internal', `an external agent cannot take the step \`${step.do}\` between its turns`);
    if (step.cause) return end(run, limitEnding(step.cause, state));
    const before = state.guards.turns;
    const { isFirst, past, session } = turns;
    const text =
      isFirst && !hasBeenPrompted(run) ? composeFirstPrompt(run, past) : composeNextPrompt(run, past, isFirst ? session.opened.how : null);
    turns.isFirst = false;
    const ending = await takeTurn(run, text, turns);
    if (run.signal.aborted) return null;
    if (ending) return end(run, ending);
    turns.silent = state.guards.turns > before ? 0 : turns.silent + 1;
    if (turns.silent >= maxSilentTurns)
      return end(run, createFailedEnding('agent_program', 'the agent ended its turn twice without an answer'));
  }
}

function hasBeenPrompted({ state }: Run): boolean {
  return state.conversation.entries.length > 1;
}

function end(run: Run, ending: Ending): Ending {
  run.isClosing = true;
  return ending;
}

/** One prompt and the agent's turn. Null: the run continues. */
async function takeTurn(run: Run, text: string, { session, recorder, services }: AgentTurns): Promise<Ending | null> {
  await run.record([{ type: 'session.prompted', data: { text: services.redact(text, true) } }]);
  const stopped = Promise.withResolvers<null>();
  let clearTimer = () => {};
  const onStop = () => {
    session.cancel();
    clearTimer();
    clearTimer = services.deadlines.at(services.clock.monotonic() + cancelMs, () => stopped.resolve(null));
  };
  recorder.onEnd(onStop);
  run.signal.addEventListener('abort', onStop, { once: true });
  if (run.signal.aborted) onStop();
  let turn: ExternalTurn | null;
  try {
    turn = await Promise.race([session.prompt(text), stopped.promise]);
  } catch (error) {
    // What ended the run explains why the agent broke off.
    const known = recorder.ending();
    if (known || run.signal.aborted) return known;
    throw error;
  } finally {
    run.signal.removeEventListener('abort', onStop);
    recorder.onEnd(() => {});
    clearTimer();
  }
  if (run.signal.aborted) return null;
  await recorder.endTurn(turn);
  finishOpenCalls(run, 'the agent ended its turn without a result of this call');
  return recorder.ending() ?? turnToEnding(run, turn);
}

function turnToEnding({ state }: Run, turn: ExternalTurn | null): Ending | null {
  if (state.phase.name === 'asking' && state.phase.failure) {
    const { code, message, retryable } = state.phase.failure.error;
    return createFailedEnding(code, message, retryable);
  }
  if (turn?.stop === 'refusal') return createFailedEnding('refused', 'the agent refused the task');
  if (turn?.stop === 'max_turn_requests')
    return { status: 'exhausted', code: 'max_turns', message: 'the agent reached its own limit of model calls' };
  return null;
}

/** Nothing of a call that is open between turns will happen any more. */
function finishOpenCalls(run: Run, why: string): void {
  const open = currentCalls(run.state).filter((call) => !call.finished);
  if (open.length > 0) void run.record(open.map((call) => toolFinishedFact(call, { status: 'cancelled', output: why })));
}
