// Executes the tool calls of an answer. The tool session decides where a call executes (ports/tool-executor.ts).
//
// T1. Every executed call gets at most one result. A run that leaves this process leaves calls open that are idempotent or have not begun; the process
//     that continues it makes them.
// T2. A tool that throws, hangs, ignores its signal or writes without end still gets a result, in time and within bounds.
// T3. No tool starts after the run's signal has fired (invariant 8), nor while the run is paused.
import { RetinueError } from '../../contract/error.ts';
import type { Draft } from '../../contract/fact.ts';
import type { Json } from '../../contract/json.ts';
import type { CallState } from '../../conversation/request.ts';
import type { Delegation } from '../../ports/delegation.ts';
import { LinkedStop, type Stop } from '../../ports/stop.ts';
import type { StoredBlob } from '../../ports/store.ts';
import type { Subject } from '../../ports/subject.ts';
import type { AnyTool, Memo, ToolContext, ToolResult } from '../../ports/tool.ts';
import type { ToolSession } from '../../ports/tool-executor.ts';
import { collectClosedPaths } from '../../rules/path-rules.ts';
import { decideCall } from '../../rules/policy.ts';
import { copyJson } from '../../text/copy-json.ts';
import { createDelegation } from '../delegation/delegation.ts';
import { addFolderRules } from '../loop/folder-rules.ts';
import { waitForResume } from '../pause.ts';
import type { Run } from '../run.ts';
import { collectRulesets } from '../run-rights.ts';
import type { Services } from '../services.ts';
import { waitForApproval } from './approval.ts';
import { createCallId, parseAsyncInput } from './call-review.ts';
import { findTool, readSubjects, recheckCall, recheckSubjects, thrownToText } from './call-rights.ts';
import { toolFinishedFact, unknownEffectText } from './judge.ts';
import { dropOriginal, executableArguments, originalLostText } from './original-arguments.ts';
import { attemptToFacts, type CallAttempt, parseToolResult } from './tool-result.ts';

/** How long a tool or a side effect of a flow may take to clean up after its signal has fired; processes of a tool get 2 s to end. */
export const graceMs = 3_000;

/** The tool session of a run, and why it broke down, if it did. */
export interface ToolSessionState {
  session: ToolSession;
  failure: RetinueError | null;
}

/** Runs the calls of an answer: reading ones at the same time, changing ones one after the other in the order of the answer. */
export async function runToolCalls(run: Run, calls: CallState[], tools: ToolSessionState, services: Services): Promise<void> {
  let changes: Promise<void> = Promise.resolve();
  run.slot.setBusyCalls(calls.length);
  // All questions are asked at once, although changing calls are made one by one.
  const refusals = new Map(calls.filter(({ approval }) => approval).map((call) => [call, waitForApproval(run, call, services)]));
  const runCall = async (call: CallState) => {
    const waiting = refusals.get(call);
    const refusal = waiting ? await waiting : null;
    const args = executableArguments(run, call, services);
    if (args === undefined)
      return finishCall(run, call, { drafts: [toolFinishedFact(call, { status: 'error', output: originalLostText })] });
    const denial = refusal ?? (await waitToBegin(run, { call, args }, services));
    if (denial !== null)
      return finishCall(run, call, { drafts: [toolFinishedFact(call, { status: 'denied', output: services.redact(denial, false) })] });
    const memo = createCallMemo(run);
    const attempt = await attemptCall(run, { call, args, memo, tools }, services);
    const path = attempt.status === 'ok' ? findTouchedPath(run, call, args) : null;
    if (path !== null) attempt.result = await addFolderRules(run, { path, result: attempt.result, memo }, services);
    finishCall(run, call, attemptToFacts(run, { call, attempt, tool: findTool(run, call.tool), memo: memo.changes }, services));
  };
  await Promise.all(
    calls.map((call) => {
      if (isParallel(findTool(run, call.tool))) return runCall(call);
      changes = changes.then(() => runCall(call));
      return changes;
    }),
  );
}

/** Waits while the run is paused. Null if the call may be made, which counts as begun from then on; otherwise the denial to return. */
async function waitToBegin(run: Run, { call, args }: { call: CallState; args: Json }, services: Services): Promise<string | null> {
  for (;;) {
    if (run.state.paused) {
      await waitForResume(run, services);
      await run.slot.ensure();
    }
    const denial = await recheckCall(run, { call, args }, services);
    if (run.signal.aborted) return denial;
    if (run.state.paused) continue;
    // In the same moment as the look at the pause: a pause that follows must name this call.
    if (denial === null) run.begun.add(call);
    return denial;
  }
}

/** The real path inside the workspace that a call has touched; null if it touches none. */
function findTouchedPath(run: Run, call: CallState, args: Json): string | null {
  const tool = findTool(run, call.tool);
  if (!tool?.hasPaths) return null;
  const read = readSubjects(tool, args, run);
  const path = 'subjects' in read ? read.subjects.at(-1) : null;
  return typeof path === 'string' && !path.startsWith('/') ? path : null;
}

/** Read-only tools, and tools without a timeout, which wait for children. */
function isParallel(tool: AnyTool | undefined): boolean {
  return tool === undefined || tool.readOnly || tool.timeoutMs === null;
}

function finishCall(run: Run, call: CallState, { drafts, blobs = [] }: { drafts: Draft[]; blobs?: StoredBlob[] }): void {
  run.slot.endBusyCall();
  dropOriginal(run, call);
  // Record no result: after a resume the call is made, or still waits for approval.
  if (run.stopCause?.code === 'paused' && (call.idempotent || !run.begun.has(call))) return;
  // What was changed must not be changed again, so its result is committed at once.
  void run.record(drafts, { blobs, canWait: findTool(run, call.tool)?.readOnly === true });
  run.begun.delete(call);
}

/** What one execution of a call needs: the arguments, what tools remember, and where they execute. */
interface CallExecution {
  call: CallState;
  args: Json;
  memo: Memo;
  tools: ToolSessionState;
}

/** Executes one call. Never rejects. */
async function attemptCall(run: Run, { call, args, memo, tools }: CallExecution, services: Services): Promise<CallAttempt> {
  const tool = findTool(run, call.tool);
  if (!tool) return { status: 'error', result: { output: `the tool ${call.tool} no longer exists` } };
  if (run.signal.aborted) {
    run.begun.delete(call);
    return { status: 'cancelled', result: { output: 'the run was stopped before this call was made' } };
  }
  const { deadlines, clock } = services;
  const stop = new LinkedStop(run.signal);
  const maxMs = run.grant.limits.toolTimeoutMs.value as number;
  const limit = tool.timeoutMs === null ? null : Math.min(tool.timeoutMs ?? maxMs, maxMs);
  const endTimer = limit === null ? () => {} : deadlines.at(clock.monotonic() + limit, () => stop.abort(new Error('timeout')));
  let denial: string | null = null;
  /** Denies a call whose real target is not allowed, even if the tool ignores this error. */
  const confirmTarget = async (subjects: Subject[]) => {
    denial ??= recheckSubjects(run, { call, subjects }, services);
    if (denial !== null) throw new RetinueError('denied', denial);
  };
  try {
    const context = createToolContext(run, { call, memo, stop, confirmTarget }, services);
    const work = (async () => {
      // A copy, because a tool may change its input, and the arguments are recorded.
      const given = copyJson(args);
      const input: unknown = tool.hasAsyncInput ? await parseAsyncInput(tool, given) : tool.input.parse(given);
      // Not called with a signal that is aborted already: a tool that only listens for the event would wait for ever.
      if (stop.aborted) throw stop.reason;
      return parseToolResult(await tools.session.call({ tool, arguments: args, input, context }));
    })();
    const { result, isLate, error } = await waitForResult(work, stop, services);
    if (error !== undefined && error === tools.failure)
      return { status: 'unknown', result: { output: `${unknownEffectText} (Its process has ended.)` } };
    if (denial !== null) return { status: 'denied', result: { output: denial } };
    if (!isLate && result) return { status: result.isError ? 'error' : 'ok', result };
    const isStopped = run.signal.aborted;
    if (isStopped && run.stopCause?.code === 'paused') return { status: 'unknown', result: { output: unknownEffectText } };
    const why = isStopped ? 'the run was stopped during this call' : `${call.tool} took longer than ${limit} ms and was stopped`;
    const output = result ? `${result.output}\n[${why}]` : why;
    return { status: isStopped ? 'cancelled' : 'timeout', result: { ...result, output } };
  } catch (error) {
    if (denial !== null) return { status: 'denied', result: { output: denial } };
    return { status: 'error', result: { output: `${call.tool} failed: ${thrownToText(error)}` } };
  } finally {
    endTimer();
    stop.release();
  }
}

/** What only some tools need is made when they ask for it. */
function createToolContext(
  run: Run,
  { call, memo, stop, confirmTarget }: Pick<ToolContext, 'memo' | 'confirmTarget'> & { call: CallState; stop: Stop },
  services: Services,
): ToolContext {
  let delegation: Delegation | null = null;
  return {
    memo,
    get signal() {
      return stop.toAbortSignal();
    },
    confirmTarget,
    runId: run.id,
    rootId: run.rootId,
    callId: createCallId(run, call),
    workspace: run.workspace,
    project: run.grant.workspace,
    files: run.files ?? undefined,
    readable: services.settings.readable,
    rights: {
      agent: run.work?.agent.name ?? '',
      definition: run.state.created.data.definition ?? null,
      tools: run.grant.tools,
      decide: (tool, subjects, options) => decideCall(collectRulesets(run), { tool, subjects }, options),
      get closedPaths() {
        return collectClosedPaths(collectRulesets(run));
      },
    },
    get delegation() {
      delegation ??= createDelegation(run, { call: { index: call.index, turn: call.turn } }, services);
      return delegation;
    },
  };
}

/** What the run's tools remember, with the entries that one call adds. They become part of the run's state with the result of the call. */
function createCallMemo({ state }: Run): Memo & { changes: ReadonlyMap<string, string> } {
  const changes = new Map<string, string>();
  return { get: (key) => changes.get(key) ?? state.memo.get(key), set: (key, value) => void changes.set(key, value), changes };
}

/** Waits for the tool. Once its call is stopped it has a short time to clean up and to return what it has; then it is abandoned. */
export function waitForResult(
  work: Promise<ToolResult>,
  stop: Stop,
  { deadlines, clock }: Services,
): Promise<{ result: ToolResult | null; isLate: boolean; error?: unknown }> {
  return new Promise((resolve, reject) => {
    let endGrace = () => {};
    const onStop = () => {
      endGrace = deadlines.at(clock.monotonic() + graceMs, () => resolve({ result: null, isLate: true }));
    };
    const end = () => {
      endGrace();
      stop.removeEventListener('abort', onStop);
    };
    stop.addEventListener('abort', onStop);
    if (stop.aborted) onStop();
    work.then(
      (result) => {
        end();
        resolve({ result, isLate: stop.aborted });
      },
      (error) => {
        end();
        if (stop.aborted) resolve({ result: null, isLate: true, error });
        else reject(error);
      },
    );
  });
}
