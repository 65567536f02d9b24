// Streams the text and the reasoning of model answers to the client. Pieces that the client cannot take in time are held and sent later; the
// recorded answer completes whatever is missing, so nothing is lost and nothing is sent twice.
import type { Delta } from '../contract/delta.ts';
import type { FactData } from '../contract/fact.ts';
import type { SessionUpdate } from './protocol.ts';

const chunks = { text: 'agent_message_chunk', reasoning: 'agent_thought_chunk' } as const;
type Kind = keyof typeof chunks;

export interface AnswerText {
  takeDelta(delta: Delta): void;
  /** The whole answer is recorded. */
  finish(runId: string, answer: Pick<FactData['model.answered'], 'turn' | 'content'>): void;
  /** The call failed: what comes next is another answer. */
  drop(): void;
}

export function createAnswerText(deps: { send(update: SessionUpdate): void; isCongested(): boolean }): AnswerText {
  let attempt = 0;
  let streamed: Record<Kind, { text: string; sent: number }> = empty();

  function sendChunk(kind: Kind, text: string, messageId: string): void {
    if (text !== '') deps.send({ sessionUpdate: chunks[kind], content: { type: 'text', text }, messageId });
  }

  function flush(kind: Kind, messageId: string): void {
    const each = streamed[kind];
    // A surrogate pair may come in two pieces.
    const end = /[\ud800-\udbff]$/.test(each.text) ? each.text.length - 1 : each.text.length;
    sendChunk(kind, each.text.slice(each.sent, end), messageId);
    each.sent = Math.max(each.sent, end);
  }

  const createId = (runId: string, turn: number, kind: Kind) => `${runId}.${turn}${attempt === 0 ? '' : `.${attempt}`}.${kind}`;

  return {
    takeDelta({ runId, turn, kind, text }) {
      if (kind === 'tool') return;
      streamed[kind].text += text;
      if (!deps.isCongested()) flush(kind, createId(runId, turn, kind));
    },
    finish(runId, { turn, content }) {
      for (const kind of ['reasoning', 'text'] as const) {
        const whole = content.flatMap((part) => (part.type === kind ? [part.text] : [])).join('');
        const { text, sent } = streamed[kind];
        const shown = text.slice(0, sent);
        const messageId = createId(runId, turn, kind);
        if (whole.startsWith(shown)) sendChunk(kind, whole.slice(shown.length), messageId);
        else if (!shown.startsWith(whole)) sendChunk(kind, whole, `${messageId}.recorded`);
      }
      attempt = 0;
      streamed = empty();
    },
    drop() {
      attempt++;
      streamed = empty();
    },
  };
}

function empty(): Record<Kind, { text: string; sent: number }> {
  return { text: { text: '', sent: 0 }, reasoning: { text: '', sent: 0 } };
}
