// Approvals: a call for which a rule says `ask` waits for an answer, without a slot. Question and answer are facts.
//
// A1. What was approved is what is executed: the question carries the call's arguments, and an answer counts only with their hash. `recheckSubjects`
//     refuses a call that would touch something else by then.
// A2. No answer in time counts as a refusal. A run that is stopped leaves its question open for the process that continues it.
import type { Draft } from '../../contract/fact.ts';
import type { CallState } from '../../conversation/request.ts';
import { type CallRef, callPin, isAwaitingApproval } from '../../conversation/tool-calls.ts';
import { isoToMs } from '../../text/instant.ts';
import { waitWhilePaused } from '../pause.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { callAt } from '../state/state.ts';

/** How long a question stays open by default. */
export const defaultQuestionMs = 600_000;

/** A question as the person who answers has seen it. */
export interface ShownCall extends CallRef {
  hash: string;
}

export interface ApprovalAnswer {
  allowed: boolean;
  by: string;
  /** Also allows the same call from now on, in this run and its descendants. */
  always?: boolean | undefined;
  reason?: string | undefined;
}

/** An answer to the question about `call`. `order`: the order that it came with. */
export interface AnsweredQuestion {
  call: ShownCall;
  answer: ApprovalAnswer;
  order?: string;
}

/** Answers a question. False if it no longer counts: it was answered, it expired, or another call was shown. */
export async function answerApproval(
  run: Run,
  { call: { turn, index, hash }, answer: { allowed, by, always = false, reason }, order }: AnsweredQuestion,
  { clock, redact }: Services,
): Promise<boolean> {
  const call = callAt(run.state, { turn, index });
  if (!call || call.finished || !isAwaitingApproval(call) || call.approval?.hash !== hash || run.signal.aborted) return false;
  if (allowed && clock.now() >= isoToMs(call.approval.expiresAt)) return false;
  const answered: Draft = {
    type: 'approval.answered',
    data: {
      allowed,
      ...(allowed && always ? { always } : {}),
      by: by.toWellFormed(),
      hash,
      index,
      ...(order === undefined ? {} : { order }),
      ...(reason === undefined || reason === '' ? {} : { reason: redact(reason.toWellFormed(), false) }),
      turn,
    },
  };
  const durable = run.record([answered], { consumed: order === undefined ? [] : [order] });
  run.notify();
  await durable;
  return true;
}

/** Waits until a call may be executed. Null if it may; otherwise the text of the refusal. */
export async function waitForApproval(run: Run, call: CallState, services: Services): Promise<string | null> {
  const { approval } = call;
  if (!approval) return null;
  if (isAwaitingApproval(call)) await waitForAnswer(run, call, services);
  // Nothing is done on an answer that could still be lost (invariant 2), nor on one that came before anything waited for it.
  await services.journal.flushed();
  const { answer } = approval;
  // No answer: the run was stopped, and executing the call finds that out.
  if (answer === null || (answer.allowed && callPin(call) === approval.hash)) return null;
  return `denied: ${call.tool} was refused by ${answer.by}${answer.reason === undefined ? '' : `: ${answer.reason}`}`;
}

async function waitForAnswer(run: Run, call: CallState, services: Services): Promise<void> {
  const { clock, deadlines } = services;
  const { turn, index, approval } = call;
  const due = clock.monotonic() + isoToMs(approval?.expiresAt ?? '') - clock.now();
  const shown = { turn, index, hash: approval?.hash ?? '' };
  const refusal = { allowed: false, by: 'Retinue', reason: 'there was no answer in time' };
  // A tree that is lost meanwhile cannot record the refusal; its run is stopped then.
  const endTimer = deadlines.at(due, () => void answerApproval(run, { call: shown, answer: refusal }, services).catch(() => {}));
  run.slot.endBusyCall();
  while ((isAwaitingApproval(call) || run.state.paused || run.pauseRequest) && !run.signal.aborted) {
    // The first of several open questions begins the pause; the others wait for its end.
    if (run.pauseRequest) await waitWhilePaused(run, services);
    else await run.waitForChange();
  }
  run.slot.beginBusyCall();
  endTimer();
  if (approval?.answer?.allowed && !run.signal.aborted) await run.slot.ensure();
}
