// Asks the person at the terminal about calls that need approval, one after the other. Without a terminal it prints the commands that answer.
import type { Api, LiveEvent, Question } from '../../api/api.ts';
import { forwardQuestions } from '../../api/forward-questions.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { describeQuestion, isFlowQuestion } from '../../views/describe-question.ts';
import { shortId } from '../../views/format.ts';
import type { Io } from '../io.ts';
import type { Progress } from '../progress/progress.ts';

export interface QuestionPrompt {
  /** For a question that was open before this process resumed its run; new ones are noticed without it. */
  askAgain(question: Question): void;
  close(): void;
}

type Answer = { allowed: boolean; always?: boolean; reason?: string };

const choices = 'Allow this call? y: once · a: always in this run · Enter or n: no · any other text: no, with that text as the reason > ';

const flowChoices = 'Approve? y: yes · Enter or n: no · any other text: no, with that text as the reason > ';

/** Anything but a clear yes is a no. */
export function parseAnswer(typed: string): Answer {
  const text = typed.trim();
  if (/^(y|yes)$/i.test(text)) return { allowed: true };
  if (/^(a|always)$/i.test(text)) return { allowed: true, always: true };
  return /^(n|no)?$/i.test(text) ? { allowed: false } : { allowed: false, reason: text };
}

export function createQuestionPrompt(io: Io, api: Pick<Api, 'answer' | 'watch'>, progress: Progress): QuestionPrompt {
  let last = Promise.resolve();
  let isOver = false;
  const closed = new AbortController();

  /** Null, because the answer is sent from here: the person learns whether it counted. */
  async function handleQuestion(question: Question, signal: AbortSignal): Promise<null> {
    if (!io.interactive) {
      progress.print(howToAnswer(question, io));
      return null;
    }
    const asked = last.then(() => ask(question, signal));
    last = asked.catch(() => {});
    await asked;
    return null;
  }

  async function ask(question: Question, signal: AbortSignal): Promise<void> {
    if (isOver || signal.aborted) return;
    const release = progress.suspend();
    const wanted = isFlowQuestion(question) ? flowChoices : choices;
    const typed = await io.ask(`${describeQuestion(question, io.colour.err)}\n${wanted}`, { signal }).finally(release);
    if (typed !== null && !isOver) return sendAnswer(question, parseAnswer(typed));
    // Ctrl-C or a closed terminal: the person wants to stop, not to answer the next question.
    if (!signal.aborted) isOver = true;
  }

  async function sendAnswer(question: Question, answer: Answer): Promise<void> {
    try {
      const { result } = await api.answer(question.id, { ...answer, by: 'the user' });
      if (result === 'late') progress.print(`retinue: ${shortId(question.runId)} no longer waits for that answer\n`);
    } catch (error) {
      progress.print(`retinue: the answer could not be saved: ${sanitizeLine(String((error as Error)?.message ?? error))}\n`);
    }
  }

  const stopAnswering = forwardQuestions(api, handleQuestion);
  return {
    askAgain(question) {
      const answered = new AbortController();
      const handleEvent = (event: LiveEvent) => {
        if (event.type === 'approval.answered' && `${event.runId}.${event.data.turn}.${event.data.index}` === question.id) answered.abort();
      };
      const unwatch = api.watch(handleEvent, { deltas: false });
      handleQuestion(question, AbortSignal.any([answered.signal, closed.signal]))
        .catch(() => {})
        .finally(unwatch);
    },
    close() {
      isOver = true;
      stopAnswering();
      closed.abort();
    },
  };
}

function howToAnswer(question: Question, io: Io): string {
  const id = `${shortId(question.runId)}.${question.turn}.${question.index}`;
  return `${describeQuestion(question, io.colour.err)}\nretinue: answer with \`retinue approve ${id}\` or \`retinue refuse ${id}\`\n`;
}
