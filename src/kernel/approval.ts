// Questions: a call that a rule asks about waits here for somebody's word, without a slot. The question and its answer are facts.
//
// A1. What is executed is what was asked about: the arguments stand in the fact of the call, and an answer counts only with their hash.
// A2. Nobody's word in time is a refusal. A run that is stopped leaves its question open for whoever goes on with it.
import type { CallState } from '../conversation/request.ts';
import { callHash, isUnanswered } from './calls.ts';
import { type HoldEnv, heldBack } from './hold.ts';
import { msOf } from './journal.ts';
import type { Answer } from './steer.ts';
import { type Executed, finished } from './tool-call.ts';

export interface Questions {
  /** Whether somebody attends this tree now. */
  attended(rootId: string): boolean;
  /** How long a question waits; ten minutes where it is absent. */
  timeoutMs?: number | undefined;
}

/** How long a question waits where nobody says otherwise. */
export const questionMs = 600_000;

export interface QuestionEnv extends HoldEnv {
  /** Answers a question of this run. */
  answer(call: CallState, answer: Answer): void;
}

/** Waits for the word on a call, until `signal` fires. Null: nobody has refused it; else what there is to tell instead. */
export async function settleQuestion(env: QuestionEnv, call: CallState, signal: AbortSignal): Promise<Executed | null> {
  const { approval } = call;
  if (!approval) return null;
  if (isUnanswered(call)) await waitForWord(env, call, signal);
  const { answer } = approval;
  // Stopped: the call itself finds that out, and nothing is begun.
  if (answer === null || (answer.allowed && callHash(call.tool, call.arguments) === approval.hash)) return null;
  const why = answer.reason === undefined ? '' : `: ${answer.reason}`;
  return { drafts: [finished(call, 'denied', `denied: ${call.tool} was refused by ${answer.by}${why}`)], blobs: [] };
}

/** Without a slot; with one again where the call is to be made. A pause that is asked for meanwhile begins here. */
async function waitForWord(env: QuestionEnv, call: CallState, signal: AbortSignal): Promise<void> {
  const { clock, deadlines, slot, pause } = env;
  const due = clock.monotonic() + msOf(call.approval?.expiresAt ?? '') - clock.now();
  const endTimer = deadlines.at(due, () => env.answer(call, { allowed: false, by: 'nobody: there was no answer in time' }));
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  slot.idle();
  while ((isUnanswered(call) || pause.hold()) && !signal.aborted) {
    // Whichever of several questions comes first begins the pause; the others wait for its end.
    if (pause.hold()?.isRecorded === false) await heldBack(env);
    else await Promise.race([env.changed(), stopped]);
  }
  slot.busy();
  endTimer();
  // Nothing is done on a word that could be lost (invariant 2).
  await env.journal.settled();
  if (call.approval?.answer?.allowed && !signal.aborted) await slot.ensure();
}
