// The cards of the inbox. A question that is no longer open keeps its card until the reader clears it.
import type { Question } from '../../../../src/contract/view.ts';

export type CardState = { kind: 'open' } | { kind: 'settled'; text: string; tone: 'ok' | 'warning' | 'neutral' };

export type Inbox = { question: Question; state: CardState }[];

const gone = 'It no longer waits: somebody else has answered, its time is over, or the run has ended.';

/** `open`: the questions that are open now. New ones come last, so that no card moves. */
export function mergeQuestions(inbox: Inbox, open: Question[]): Inbox {
  const keyOf = ({ id, hash }: Question) => `${id} ${hash}`;
  const current = new Map(open.map((question) => [keyOf(question), question]));
  const known = new Set(inbox.map(({ question }) => keyOf(question)));
  return [
    ...inbox.map((entry): Inbox[number] => {
      if (current.has(keyOf(entry.question)) || entry.state.kind === 'settled') return entry;
      return { ...entry, state: { kind: 'settled', text: gone, tone: 'neutral' } };
    }),
    ...open.filter((question) => !known.has(keyOf(question))).map((question): Inbox[number] => ({ question, state: { kind: 'open' } })),
  ];
}

export function removeSettled(inbox: Inbox): Inbox {
  return inbox.filter(({ state }) => state.kind === 'open');
}
