// Answers that are being streamed, of all runs on the screen: whoever opens a run sees its answer from the beginning.
import type { Delta } from '../../contract/delta.ts';
import type { StoredFact } from '../../contract/fact.ts';

export interface LiveText {
  turn: number;
  text: string;
  reasoning: string;
}

export interface LiveTexts {
  /** Each event once, in order. */
  take(event: StoredFact | Delta): void;
  /** Null if nothing of an answer has arrived. A text whose beginning is missing begins with `…`. */
  of(runId: string): LiveText | null;
}

const maxChars = 40_000;
const missing = '… ';

export function createLiveTexts(): LiveTexts {
  const texts = new Map<string, LiveText>();

  function addDelta({ runId, turn, kind, text }: Delta): void {
    if (kind === 'tool') return;
    const known = texts.get(runId);
    // Without the request, the screen was opened in the middle of the answer.
    const current = known?.turn === turn ? known : { turn, text: kind === 'text' ? missing : '', reasoning: '' };
    const whole = current[kind] + text;
    // Cut rarely: each cut copies the text.
    current[kind] = whole.length <= 2 * maxChars ? whole : missing + whole.slice(-maxChars).toWellFormed();
    texts.set(runId, current);
  }

  return {
    take(event) {
      if (event.type === 'delta') addDelta(event);
      else if (event.type === 'model.asked') texts.set(event.runId, { turn: event.data.turn, text: '', reasoning: '' });
      else if (event.type === 'model.answered' || event.type === 'model.failed' || event.type === 'run.ended') texts.delete(event.runId);
    },
    of(runId) {
      const text = texts.get(runId);
      return text === undefined || text.text + text.reasoning === '' ? null : text;
    },
  };
}
