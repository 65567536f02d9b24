// The drivers: an agent's model loop, a connected client, and a client whose process is gone.
import type { FactData, FactOf } from '../contract/fact.ts';
import { currentLoopVersion } from '../conversation/loop-version.ts';
import type { PinnedParts } from '../conversation/request.ts';
import { canonical, sha256 } from '../text/canonical.ts';
import { isoToMs, msToIso } from '../text/instant.ts';
import { loadImageMessages } from './admission/images.ts';
import { runWithChecks } from './checks/checks.ts';
import { finishPlans } from './delegation/apply.ts';
import type { Driver, DriverResult } from './lifecycle.ts';
import { errorToEnding } from './lifecycle.ts';
import { runLoop } from './loop/loop.ts';
import { createPromptRun } from './loop/prompt-run.ts';
import { loadHistory, loadPinned } from './recovery/history.ts';
import type { ModelWork, Run, StopCause } from './run.ts';
import type { Services } from './services.ts';
import { completedEnding } from './state/outcome.ts';
import { deadlineOf, startedFact } from './state/state.ts';
import { stopToEnding } from './stop-to-ending.ts';
import type { ToolSessionState } from './tool-calls/tool-execution.ts';
import { ensureWorkspace } from './workspace.ts';

/** Opens the tool session without waiting for it, starts or continues the run, then runs the loop. */
export const driveAgent: Driver = async (run, services) => {
  if (!(await prepareWork(run, services))) return null;
  const tools = openToolSession(run, services);
  try {
    const started = startedFact(run.state);
    const pinned = started ? await loadStartedRun(run, started, services) : await pinAndStart(run, services);
    const ending = await runWithChecks(run, { tools, runLoop: () => runLoop(run, { pinned, tools }, services) }, services);
    if (ending) return { ending };
    return tools.failure && wasStoppedBy(run, tools.failure) ? { ending: errorToEnding(tools.failure) } : null;
  } finally {
    run.clearDeadline();
    await tools.session.close();
  }
};

/** Waits for a slot and prepares the files of the run. False if the run was stopped meanwhile. */
export async function prepareWork(run: Run, services: Services): Promise<boolean> {
  if (!(await run.slot.ensure())) return false;
  try {
    await ensureWorkspace(run, services);
    return true;
  } catch (error) {
    if (run.signal.aborted) return false;
    throw error;
  }
}

/** The run is stopped if the session fails. */
export function openToolSession(run: Run, services: Services): ToolSessionState {
  const executor = services.findExecutor(run.state.created.data.host) ?? services.findExecutor('inline');
  if (!executor) throw new Error('no inline tool executor is configured');
  const { id: runId, workspace, signal } = run;
  const session = executor.open({ runId, workspace, readable: services.settings.readable, memo: run.state.memo, signal });
  const tools: ToolSessionState = { session, failure: null };
  void session.failed.then((error) => {
    tools.failure = error;
    run.stop({ code: 'cancelled', message: error.message });
  });
  return tools;
}

function wasStoppedBy({ stopCause }: Run, { message }: Error): boolean {
  return stopCause?.code === 'cancelled' && stopCause.message === message;
}

/**
 * Pins everything that requests share and sets the deadline, never past the parent's (invariant 6). An external agent has its own system prompt and tools:
 * only the instructions of its definition are pinned.
 */
export async function pinAndStart(run: Run, services: Services, { isExternal = false } = {}): Promise<PinnedParts> {
  const { store, clock, redact } = services;
  const { brief, grant, dialect } = run;
  const { agent, model, tools: known } = run.work as ModelWork;
  const { prompts } = dialect;
  const promptRun = createPromptRun(run, services);
  const [rawSystem, rawFirst, past, images] = await Promise.all([
    isExternal ? { text: agent.prompt, taint: [] } : prompts.system(promptRun),
    prompts.first(brief, promptRun),
    brief.continues === undefined ? null : loadHistory(brief.continues, brief.continuesAt ?? null, store),
    loadImageMessages(run.state.created.data.images, store),
  ]);
  const { text: system, hash: systemHash } = services.systems.get(rawSystem.text);
  const taint = [...new Set([...rawSystem.taint, ...rawFirst.taint, ...(past?.taint ?? [])])].sort();
  const { tools, text: toolsText, hash: toolsHash } = prompts.tools(isExternal ? [] : grant.tools, known, brief.result?.schema);
  const messages = [...(past?.messages ?? []), ...images];
  const history = past === null && images.length === 0 ? null : canonical(messages);
  const pinned: PinnedParts = {
    system,
    systemHash,
    tools,
    toolsHash,
    history: messages,
    historyHash: history === null ? null : sha256(history),
  };
  const now = clock.monotonic();
  run.startTimer(clock, 0);
  const due = Math.min(now + (grant.limits.timeoutMs.value as number), run.parent?.deadline ?? Number.POSITIVE_INFINITY);
  run.setDeadline(due);
  run.notAfter = msToIso(clock.now() + due - now);
  const data: FactData['run.started'] = {
    deadline: run.notAfter,
    first: redact(rawFirst.text, true),
    history: pinned.historyHash,
    loop: currentLoopVersion,
    ...(past && Object.keys(past.memo).length > 0 && { memo: past.memo }),
    model: model.id,
    ...(dialect.readTool === undefined ? {} : { reader: dialect.readTool }),
    system: pinned.systemHash,
    ...(taint.length > 0 && { taint }),
    tools: toolsHash,
  };
  const blobs = [
    { hash: pinned.systemHash, content: system },
    { hash: toolsHash, content: toolsText },
  ];
  if (history !== null) blobs.push({ hash: pinned.historyHash as string, content: history });
  void run.record([{ type: 'run.started', data }], { blobs, canWait: true });
  return pinned;
}

/** Loads the pinned request parts of a run that was already started. */
export async function loadStartedRun(run: Run, started: FactOf<'run.started'>, services: Services): Promise<PinnedParts> {
  continueDeadline(run, started, services);
  return loadPinned(run.id, started.data, services.store);
}

/** Continues the clock of a run that was already started. */
export function continueDeadline(run: Run, { at }: FactOf<'run.started'>, { clock }: Services): void {
  run.startTimer(clock, clock.now() - isoToMs(at));
  const { budgetPauseSince: since } = run.state;
  const deadline = deadlineOf(run.state);
  const left = deadline === null ? Number.POSITIVE_INFINITY : isoToMs(deadline) - (since === null ? clock.now() : isoToMs(since));
  run.setDeadline(clock.monotonic() + left);
  if (since !== null) run.suspendDeadline();
}

/** The `run.started` data of a client, recorded with `run.created`. */
export const clientStartedData: FactData['run.started'] = {
  deadline: null,
  first: null,
  history: null,
  loop: currentLoopVersion,
  model: null,
  system: null,
  tools: null,
};

const clientGone: StopCause & { code: 'client_gone' } = { code: 'client_gone', message: 'the client that delegated it went away' };

/**
 * Why a client ends. `gone`: the connection was lost; native children are paused, those of other dialects end. `reason`: what the outcomes of children
 * that still run say.
 */
export interface ClientClose {
  gone: boolean;
  reason?: string;
}

/** A client lasts until it closes, goes away or is stopped. */
export function createClientDriver(closed: Promise<ClientClose>): Driver {
  return async (run) => {
    const stopped = new Promise<null>((resolve) => {
      if (run.signal.aborted) resolve(null);
      run.signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    const close = await Promise.race([closed, stopped]);
    const isGone = close?.gone ?? false;
    // Native children are paused and can be resumed; other dialects end theirs with the client.
    if (isGone && !run.dialect.setup.endsWithClient && run.children.size > 0) run.stop({ ...clientGone, code: 'paused' });
    return createClientResult(run, isGone ? clientGone : reasonToChildCause(close?.reason));
  };
}

/** A client of an earlier process, which has no connection any more: its children end as their dialect says, and then it ends. */
export const driveAbandonedClient: Driver = async (run, services) => {
  await finishPlans(run, services);
  if (run.dialect.setup.endsWithClient) for (const child of run.children) child.stop(clientGone);
  await Promise.allSettled([...run.children].map((child) => child.ended));
  return createClientResult(run, undefined);
};

function reasonToChildCause(reason: string | undefined): StopCause | undefined {
  return reason === undefined ? undefined : { code: 'cancelled', message: reason };
}

function createClientResult(run: Run, childCause: StopCause | undefined): DriverResult {
  const ending = run.stopCause ? stopToEnding(run.stopCause) : completedEnding;
  return childCause ? { ending, childCause } : { ending };
}
