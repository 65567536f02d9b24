// Questions of the runs that a terminal attends, one after the other: what would be done, which rule asks, and the answer of whoever sits there.
import type { Api, LiveEvent, Question } from '../api/api.ts';
import { questionOf } from '../api/questions.ts';
import type { FactOf } from '../contract/fact.ts';
import { cleanLine } from './clean.ts';
import { questionText } from './describe-question.ts';
import { shortId } from './format.ts';
import type { Io } from './io.ts';
import type { Progress } from './progress.ts';

export interface Asker {
  event(event: LiveEvent): void;
  /** A question that was open before this process took its run up. */
  open(question: Question): void;
  end(): void;
}

export type Word = { allowed: boolean; always?: boolean; reason?: string };

const prompt = 'Allow it? y: this once · a: always in this run · Enter or n: no · anything else: no, and tell it why > ';

/** What was typed. Whatever is no clear yes is a no. */
export function readWord(text: string): Word {
  const word = text.trim();
  if (/^(y|yes)$/i.test(word)) return { allowed: true };
  if (/^(a|always)$/i.test(word)) return { allowed: true, always: true };
  return /^(n|no)?$/i.test(word) ? { allowed: false } : { allowed: false, reason: word };
}

/** Asks on the terminal where there is one; else it says how to answer from elsewhere. */
export function createAsker(io: Io, api: Pick<Api, 'answer'>, progress: Progress): Asker {
  const runs = new Map<string, { rootId: string; agent: string | null; label: string | null }>();
  const waiting: Question[] = [];
  let current: { id: string; stop: AbortController } | null = null;
  let asking = false;
  let over = false;

  /** One after the other: while the answer to one is told, no other is put. */
  async function askAll(): Promise<void> {
    if (asking) return;
    asking = true;
    for (let question = waiting.shift(); question && !over; question = waiting.shift()) await put(question);
    asking = false;
  }

  async function put(question: Question): Promise<void> {
    const stop = new AbortController();
    current = { id: question.id, stop };
    const release = progress.suspend();
    const said = await io.ask(`${questionText(question, io)}\n${prompt}`, { signal: stop.signal });
    release();
    current = null;
    if (said !== null && !over) return tell(question, readWord(said));
    // Whoever pressed Ctrl-C wants the end, and no more questions.
    if (!stop.signal.aborted) over = true;
  }

  async function tell(question: Question, word: Word): Promise<void> {
    try {
      const { result } = await api.answer(question.id, { ...word, by: 'the user' });
      if (result === 'late') progress.note(`retinue: ${shortId(question.runId)} no longer waits for that answer\n`);
    } catch (error) {
      progress.note(`retinue: the answer did not arrive: ${cleanLine(String((error as Error)?.message ?? error))}\n`);
    }
  }

  function asked(fact: FactOf<'approval.asked'>): void {
    open(questionOf(fact, runs.get(fact.runId) ?? { rootId: fact.runId, agent: null, label: null }));
  }

  function open(question: Question): void {
    if (io.interactive) waiting.push(question);
    else elsewhere(question);
    void askAll();
  }

  function elsewhere(question: Question): void {
    const id = `${shortId(question.runId)}.${question.turn}.${question.index}`;
    progress.note(`${questionText(question, io)}\nretinue: it waits for \`retinue approve ${id}\` or \`retinue refuse ${id}\`\n`);
  }

  return {
    open,
    event(event) {
      if (event.type === 'run.created') {
        const { rootId, agent, brief } = event.data;
        runs.set(event.runId, { rootId, agent, label: brief.label ?? null });
      }
      if (event.type === 'approval.asked') asked(event);
      if (event.type !== 'approval.answered') return;
      // Answered elsewhere, or too late: it is asked no more.
      const id = `${event.runId}.${event.data.turn}.${event.data.index}`;
      const at = waiting.findIndex((question) => question.id === id);
      if (at !== -1) waiting.splice(at, 1);
      if (current?.id === id) current.stop.abort();
    },
    end() {
      over = true;
      current?.stop.abort();
    },
  };
}
