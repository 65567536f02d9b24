// Making the tool calls of an answer, here: in their order, with the word of whoever is asked, and each result a fact.
import type { CallState } from '../conversation/request.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { AnyTool } from '../ports/tool.ts';
import { type QuestionEnv, settleQuestion } from './approval.ts';
import { isUnanswered } from './calls.ts';
import { deniedNow } from './examine.ts';
import type { StopCause } from './live.ts';
import { rootOf } from './state.ts';
import { type Executed, type Execution, execute, finished, type ToolEnv } from './tool-call.ts';

export interface CallEnv extends QuestionEnv {
  tools: ToolEnv;
  delegation(call: { turn: number; index: number }): Delegation;
}

/** Runs the calls of an answer: reading ones at the same time, changing ones one after the other in the order of the answer. */
export async function runCalls(env: CallEnv, calls: CallState[]): Promise<void> {
  let changes: Promise<void> = Promise.resolve();
  env.slot.work(calls.length);
  // All questions at once, though what changes something is made in its turn.
  const words = new Map(calls.map((call) => [call, settleQuestion(env, call, env.signal)]));
  const run = async (call: CallState) => finishCall(env, call, await makeCall(env, call, env.signal, words.get(call)));
  await Promise.all(
    calls.map((call) => {
      if (isParallel(env.tools.tools.get(call.tool))) return run(call);
      changes = changes.then(() => run(call));
      return changes;
    }),
  );
}

/** Makes a call here, once it may be made. `word`: what somebody says about it, where that is waited for already. */
export async function makeCall(
  env: CallEnv,
  call: CallState,
  signal: AbortSignal,
  word: Promise<Executed | null> = settleQuestion(env, call, signal),
): Promise<Executed> {
  return (await word) ?? (await forbidden(env, call)) ?? execute(call, executionOf(env, call, signal));
}

/** What to tell in the place of a call that rules forbid which have come since it was judged; null where it may be made. */
export async function forbidden({ tools }: CallEnv, call: CallState): Promise<Executed | null> {
  if (!call.approval && !tools.narrowed()) return null;
  await tools.tools
    .get(call.tool)
    ?.prepare?.()
    .catch(() => {});
  const text = deniedNow(call, tools);
  return text === null ? null : { drafts: [finished(call, 'denied', text)], blobs: [] };
}

/** Records what a call gave, whoever made it. */
export function finishCall(env: CallEnv, call: CallState, { drafts, blobs }: Executed): void {
  env.slot.idle();
  // Left open, it is made again by whoever goes on with the run, or still waits for a word.
  if (isPaused(env.signal) && (call.idempotent || isUnanswered(call))) return;
  env.journal.record(rootOf(env.state), [{ runId: env.state.runId, drafts }], { blobs }).catch(() => {});
}

function executionOf(env: CallEnv, call: CallState, signal: AbortSignal): Execution {
  const { state, deadlines, clock } = env;
  const ids = { runId: state.runId, rootId: rootOf(state) };
  return { ...ids, env: env.tools, delegation: env.delegation(call), signal, deadlines, now: () => clock.monotonic() };
}

/** Reading tools, and those that keep their own time because they wait for children. */
export function isParallel(tool: AnyTool | undefined): boolean {
  return tool === undefined || tool.readOnly || tool.timeoutMs === null;
}

function isPaused(signal: AbortSignal): boolean {
  return signal.aborted && (signal.reason as StopCause).code === 'paused';
}
