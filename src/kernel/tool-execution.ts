// Executes the tool calls of an answer and turns results into facts. The tool session decides where a call executes (ports/tool-executor.ts).
//
// T1. Every executed call gets at most one result. A paused run leaves idempotent calls open and repeats them when it is resumed.
// T2. A tool that throws, hangs, ignores its signal or writes without end still gets a result, in time and within bounds.
// T3. No tool starts after the run's signal has fired (invariant 8).
import { z } from 'zod';
import { Artifact } from '../contract/artifact.ts';
import { RetinueError } from '../contract/error.ts';
import type { Draft } from '../contract/fact.ts';
import { RunId } from '../contract/ids.ts';
import type { CallState } from '../conversation/request.ts';
import { isAwaitingApproval } from '../conversation/tool-calls.ts';
import type { StoredBlob } from '../ports/store.ts';
import type { Subject } from '../ports/subject.ts';
import type { AnyTool, ToolContext, ToolResult } from '../ports/tool.ts';
import type { ToolSession } from '../ports/tool-executor.ts';
import { decideCall } from '../rules/policy.ts';
import { sha256 } from '../text/canonical.ts';
import { cutMiddle } from '../text/cut.ts';
import { markInvisible } from '../text/invisible.ts';
import { waitForApproval } from './approval.ts';
import { createDelegation } from './delegation.ts';
import { findTool, recheckCall, recheckSubjects, thrownToText, toolFinishedFact, unknownEffectText } from './judge.ts';
import { collectRulesets, isNarrowed, type Run } from './run.ts';
import type { Services } from './services.ts';

const defaultOutputBytes = 50_000;
/** How long a tool may take to clean up after its signal has fired; its processes get 2 s to end. */
const graceMs = 3000;
/** Longer outputs are cut first; tools bound their own outputs far below this. */
const maxKeptBytes = 4 * 1024 * 1024;

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
  const refusals = new Map(calls.map((call) => [call, waitForApproval(run, call, services)]));
  const runCall = async (call: CallState) => {
    const denial = (await refusals.get(call)) ?? (await recheckIfNeeded(run, call));
    if (denial !== null && denial !== undefined) return finishCall(run, call, [toolFinishedFact(call, 'denied', denial)]);
    const { drafts, blobs } = attemptToFacts(call, await attemptCall(run, call, tools, services), findTool(run, call.tool), services);
    finishCall(run, call, drafts, blobs);
  };
  await Promise.all(
    calls.map((call) => {
      if (isParallel(findTool(run, call.tool))) return runCall(call);
      changes = changes.then(() => runCall(call));
      return changes;
    }),
  );
}

/** Read-only tools, and tools without a timeout, which wait for children. */
function isParallel(tool: AnyTool | undefined): boolean {
  return tool === undefined || tool.readOnly || tool.timeoutMs === null;
}

async function recheckIfNeeded(run: Run, call: CallState): Promise<string | null> {
  return call.approval || isNarrowed(run) ? recheckCall(run, call) : null;
}

function finishCall(run: Run, call: CallState, drafts: Draft[], blobs: StoredBlob[] = []): void {
  run.slot.endBusyCall();
  // Record no result: after a resume the call is repeated, or still waits for approval.
  if (run.stopCause?.code === 'paused' && (call.idempotent || isAwaitingApproval(call))) return;
  void run.record(drafts, { blobs });
}

const ResultSchema = z.object({
  output: z.string(),
  isError: z.boolean().optional(),
  artifacts: z.array(Artifact).optional(),
  taint: z.array(z.string()).optional(),
  told: z.array(RunId).optional(),
});

interface CallAttempt {
  status: 'ok' | 'error' | 'denied' | 'timeout' | 'cancelled' | 'unknown';
  result: ToolResult;
}

/** Executes one call. Never rejects. */
async function attemptCall(run: Run, call: CallState, tools: ToolSessionState, services: Services): Promise<CallAttempt> {
  const tool = findTool(run, call.tool);
  if (!tool) return { status: 'error', result: { output: `the tool ${call.tool} no longer exists` } };
  if (run.signal.aborted) return { status: 'cancelled', result: { output: 'the run was stopped before this call was made' } };
  const { deadlines, clock } = services;
  const stop = new AbortController();
  const onAbort = () => stop.abort(run.signal.reason);
  run.signal.addEventListener('abort', onAbort, { once: true });
  const maxMs = run.grant.limits.toolTimeoutMs.value as number;
  const limit = tool.timeoutMs === null ? null : Math.min(tool.timeoutMs ?? maxMs, maxMs);
  const endTimer = limit === null ? () => {} : deadlines.at(clock.monotonic() + limit, () => stop.abort(new Error('timeout')));
  let denial: string | null = null;
  /** Denies a call whose real target is not allowed, even if the tool ignores this error. */
  const confirmTarget = async (subjects: Subject[]) => {
    denial ??= recheckSubjects(run, call, subjects);
    if (denial !== null) throw new RetinueError('denied', denial);
  };
  try {
    const context = { ...createToolContext(run, call, services), signal: stop.signal, confirmTarget };
    const work = (async () => {
      const input: unknown = tool.input.parse(structuredClone(call.arguments));
      return parseResult(await tools.session.call({ tool, arguments: call.arguments, input, context }));
    })();
    const { result, isLate, error } = await waitForResult(work, stop.signal, services);
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
    run.signal.removeEventListener('abort', onAbort);
  }
}

function createToolContext(run: Run, call: CallState, services: Services): Omit<ToolContext, 'signal' | 'confirmTarget'> {
  return {
    runId: run.id,
    rootId: run.rootId,
    workspace: run.grant.workspace,
    readable: services.settings.readable,
    memo: run.memo,
    rights: {
      agent: run.work?.agent.name ?? '',
      definition: run.state.created.data.definition ?? null,
      tools: run.grant.tools,
      decide: (tool, subjects, options) => decideCall(collectRulesets(run), { tool, subjects }, options),
    },
    delegation: createDelegation(run, { index: call.index, turn: call.turn }, services),
  };
}

/** Results become facts, so their form is checked: a tool that returns anything else has failed. */
function parseResult(value: unknown): ToolResult {
  const parsed = ResultSchema.safeParse(value);
  if (parsed.success) return parsed.data as ToolResult;
  const issue = parsed.error.issues[0];
  throw new Error(`it returned no valid result (${issue?.path.join('.') || 'result'}: ${issue?.message})`);
}

/** Waits for the tool. Once its signal has fired it has a short time to clean up and to return what it has; then it is abandoned. */
function waitForResult(
  work: Promise<ToolResult>,
  signal: AbortSignal,
  { deadlines, clock }: Services,
): Promise<{ result: ToolResult | null; isLate: boolean; error?: unknown }> {
  return new Promise((resolve, reject) => {
    let endGrace = () => {};
    const onAbort = () => {
      endGrace = deadlines.at(clock.monotonic() + graceMs, () => resolve({ result: null, isLate: true }));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work
      .then(
        (result) => resolve({ result, isLate: signal.aborted }),
        (error) => (signal.aborted ? resolve({ result: null, isLate: true, error }) : reject(error)),
      )
      .finally(() => {
        endGrace();
        signal.removeEventListener('abort', onAbort);
      });
  });
}

/**
 * A result as facts, and the texts they refer to. Secrets are removed, then invisible characters are marked, then the text is cut for the model. A cut
 * text is kept as an artifact, up to 4 MiB.
 */
function attemptToFacts(
  call: CallState,
  { status, result }: CallAttempt,
  tool: AnyTool | undefined,
  { redact }: Services,
): { drafts: Draft[]; blobs: StoredBlob[] } {
  const maxBytes = tool?.maxOutputBytes ?? defaultOutputBytes;
  const bounded = cutMiddle(String(result.output ?? ''), Math.max(maxKeptBytes, maxBytes));
  const whole = markInvisible(redact(bounded.text.toWellFormed(), true));
  const cut = cutMiddle(whole, maxBytes);
  const originalBytes = bounded.truncated?.originalBytes ?? cut.truncated?.originalBytes ?? 0;
  const truncated = cut.truncated ? { originalBytes, keptBytes: cut.truncated.keptBytes } : null;
  const blobs = truncated ? [{ hash: sha256(whole), content: whole }] : [];
  const note = { bytes: originalBytes, kind: 'note' as const, title: `whole output of ${call.tool}`, value: '' };
  const artifacts = (result.artifacts ?? []).map((artifact) => ({ ...artifact, value: redact(artifact.value.toWellFormed(), true) }));
  const taint = [...new Set([...(tool?.taint ?? []), ...(result.taint ?? [])])];
  return {
    drafts: [
      ...artifacts.map((artifact) => artifactFact(call, artifact, null)),
      ...blobs.map(({ hash }) => artifactFact(call, note, hash)),
      toolFinishedFact(call, status, cut.text, { truncated, taint, told: result.told ?? [] }),
    ],
    blobs,
  };
}

function artifactFact({ turn, index }: CallState, artifact: Artifact, blob: string | null): Draft {
  return { type: 'artifact.recorded', data: { artifact, blob, index, turn } };
}
