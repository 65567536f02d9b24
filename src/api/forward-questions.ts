// Forwards the approval questions of this process to a callback of a program or to an MCP client, instead of a terminal.
import type { RunRow } from '../contract/run.ts';
import type { Api, LiveEvent, Question } from './api.ts';
import { factToQuestion } from './questions.ts';

export type QuestionAnswer = Parameters<Api['answer']>[1];

/** Null or a rejection leaves the question open, for another answer or until it expires: a failed prompt is not an answer. `signal` fires when the question needs no answer any more. */
export type Answerer = (question: Question, signal: AbortSignal) => Promise<QuestionAnswer | null>;

/** Asks `answerer` each question. Returns a function that stops forwarding. */
export function forwardQuestions(api: Pick<Api, 'watch' | 'answer'>, answerer: Answerer): () => void {
  const runs = new Map<string, Pick<RunRow, 'rootId' | 'agent' | 'label'>>();
  const open = new Map<string, AbortController>();

  async function ask(question: Question): Promise<void> {
    const stop = new AbortController();
    open.set(question.id, stop);
    const answer = await answerer(question, stop.signal).finally(() => open.delete(question.id));
    if (answer && !stop.signal.aborted) await api.answer(question.id, answer);
  }

  const handleEvent = (event: LiveEvent) => {
    if (event.type === 'run.created') {
      const { rootId, agent, brief } = event.data;
      runs.set(event.runId, { rootId, agent, label: brief.label ?? null });
    }
    if (event.type === 'run.ended') runs.delete(event.runId);
    if (event.type === 'approval.asked') {
      const run = runs.get(event.runId) ?? { rootId: event.runId, agent: null, label: null };
      // Without an answer, or if it cannot be delivered, the question stays open and expires as a refusal.
      void ask(factToQuestion(event, run)).catch(() => {});
    }
    if (event.type === 'approval.answered') open.get(`${event.runId}.${event.data.turn}.${event.data.index}`)?.abort();
  };
  const unwatch = api.watch(handleEvent, { deltas: false });
  return () => {
    unwatch();
    for (const stop of open.values()) stop.abort();
  };
}
