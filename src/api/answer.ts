// Answers the questions of runs of any process.
import type { StoredFact } from '../contract/fact.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { findRun } from '../records/find-run.ts';
import { isoToMs } from '../text/instant.ts';
import type { Api, Question } from './api.ts';
import { watchChanges } from './follow.ts';
import type { Listeners } from './listeners.ts';
import type { Reach } from './reach.ts';

/** How long an approval waits to learn that newer rules deny the call. */
const denialWaitMs = 2000;

export interface AnswerDeps {
  store: Store;
  clock: Clock;
  listeners: Listeners;
  reach: Reach;
}

export type AnswerQuestion = (question: Question, answer: Parameters<Api['answer']>[1]) => ReturnType<Api['answer']>;

export function createAnswer({ store, clock, listeners, reach: { findLive, sendOrder, waitForFact } }: AnswerDeps): AnswerQuestion {
  /**
   * The denial of an approved call, if the run got narrowing rules after it asked. Null if no rule came, or if nothing is known within `denialWaitMs`.
   */
  async function findDenial({ runId, turn, index }: Question): Promise<string | null> {
    const isThisCall = (data: { turn: number; index: number }) => data.turn === turn && data.index === index;
    const facts = await store.facts({ runId, types: ['approval.asked', 'message.received'] });
    const asked = facts.findIndex((fact) => fact.type === 'approval.asked' && isThisCall(fact.data));
    if (!facts.slice(asked).some((fact) => fact.type === 'message.received' && fact.data.rules?.length)) return null;
    const stop = new AbortController();
    const endTimer = clock.at(clock.monotonic() + denialWaitMs, () => stop.abort());
    try {
      for await (const _ of watchChanges({ store, listeners }, stop.signal)) {
        const results = await store.facts({ runId, types: ['tool.finished'] });
        const result = results.find((fact) => fact.type === 'tool.finished' && isThisCall(fact.data));
        if (result?.type === 'tool.finished') return result.data.status === 'denied' ? result.data.output : null;
      }
      return null;
    } finally {
      endTimer();
    }
  }

  return async function answerQuestion(question, answer) {
    const { runId, turn, index, hash } = question;
    const { allowed, always = false, reason = '', by = 'the user' } = answer;
    if (clock.now() >= isoToMs(question.expiresAt)) return { question, result: 'late' };
    const own = await findLive(runId);
    if (own) return { question, result: (await own.answer({ turn, index, hash }, { allowed, by, always, reason })) ? 'answered' : 'late' };
    const row = await findRun(runId, store);
    const orderId = await sendOrder(row, { kind: allowed ? 'approve' : 'refuse', text: reason, by, call: { turn, index, hash, always } });
    /** The order that the recorded answer came with; another answer may have been first. */
    let answeredBy: string | undefined;
    const isAnswer = (fact: StoredFact) => {
      if (fact.type !== 'approval.answered' || fact.data.turn !== turn || fact.data.index !== index) return false;
      answeredBy = fact.data.order;
      return true;
    };
    const result = await waitForFact(row, 'approval.answered', isAnswer);
    // The order stays for the process that resumes the run.
    if (result === 'undriven') return { question, result: 'kept' };
    if (result === 'ended' || answeredBy !== orderId) return { question, result: 'late' };
    const denial = allowed ? await findDenial(question) : null;
    return { question, result: 'answered', ...(denial === null ? {} : { denial }) };
  };
}
