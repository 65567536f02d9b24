// Questions: a call that a rule asks about waits here for somebody's word, without a slot. The question and its answer are facts.
//
// A1. What is executed is what was asked about: the arguments stand in the fact of the call, and an answer counts only with their hash.
// A2. Nobody's word in time is a refusal. A run that is stopped leaves its question open for whoever goes on with it.
import type { CallState } from '../parts/conversation.ts';
import type { HoldEnv } from './hold.ts';
import { msOf } from './journal.ts';
import { callHash, isUnanswered } from './state.ts';
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

export type QuestionEnv = Omit<HoldEnv, 'pause'> & {
  /** Answers a question of this run. */
  answer(call: CallState, answer: Answer): void;
};

/** Waits for the word on a call. Null: it may be made; else what there is to tell instead. */
export async function settleQuestion(env: QuestionEnv, call: CallState): Promise<Executed | null> {
  const { approval } = call;
  if (!approval) return null;
  if (isUnanswered(call)) await waitForWord(env, call, approval.expiresAt);
  const { answer } = approval;
  // Stopped: the call itself finds that out, and nothing is begun.
  if (answer === null || (answer.allowed && callHash(call.tool, call.arguments) === approval.hash)) return null;
  const why = answer.reason === undefined ? '' : `: ${answer.reason}`;
  return { drafts: [finished(call, 'denied', `denied: ${call.tool} was refused by ${answer.by}${why}`)], blobs: [] };
}

async function waitForWord(env: QuestionEnv, call: CallState, expiresAt: string): Promise<void> {
  const { clock, deadlines, slot, signal } = env;
  const due = clock.monotonic() + msOf(expiresAt) - clock.now();
  const endTimer = deadlines.at(due, () => env.answer(call, { allowed: false, by: 'nobody: there was no answer in time' }));
  slot.idle();
  while (isUnanswered(call) && !signal.aborted) await env.changed();
  slot.busy();
  endTimer();
  // Nothing is done on a word that could be lost (invariant 2).
  await env.journal.settled();
}
