// The pure parts: streaming under backpressure, and recorded diffs as an editor shows them.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAnswerText } from '../../src/acp/answer-text.ts';
import type { SessionUpdate } from '../../src/acp/protocol.ts';
import { diffToContent, outputContent } from '../../src/acp/tool-call.ts';
import { createDiff } from '../../src/tools/files/diff.ts';

function record(isCongested: () => boolean) {
  const sent: SessionUpdate[] = [];
  const answer = createAnswerText({ send: (update) => sent.push(update), isCongested });
  const texts = () => sent.map((update) => (update.sessionUpdate === 'agent_message_chunk' ? update.content.text : '')).join('');
  const stream = (text: string) => answer.takeDelta({ type: 'delta', runId: 'r', turn: 1, kind: 'text', text });
  const finish = (text: string) => answer.finish('r', { turn: 1, content: [{ type: 'text', text }] });
  return { sent, answer, texts, stream, finish };
}

describe('the text of an answer', () => {
  it('arrives whole and once, whichever pieces come while the client does not read, and whichever never come', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.boolean())), fc.nat(), (pieces, lost) => {
        let isBusy = false;
        const { texts, stream, finish, sent } = record(() => isBusy);
        const whole = pieces.map(([text]) => text).join('');
        for (const [text, busy] of pieces.slice(0, lost % (pieces.length + 1))) {
          isBusy = busy;
          stream(text);
        }
        finish(whole);
        expect(texts()).toBe(whole);
        for (const update of sent) if ('content' in update) expect(JSON.stringify(update)).toBe(JSON.stringify(update).toWellFormed());
      }),
    );
  });

  it('of a repeated call is a message of its own', () => {
    const { sent, answer, stream, finish } = record(() => false);
    stream('half an ans');
    answer.drop();
    stream('a whole');
    finish('a whole answer');
    expect(sent.map((update) => ('messageId' in update ? [update.messageId, update.content.text] : null))).toEqual([
      ['r.1.text', 'half an ans'],
      ['r.1.1.text', 'a whole'],
      ['r.1.1.text', ' answer'],
    ]);
  });

  it('that differs from what was streamed is sent again', () => {
    const { texts, stream, finish } = record(() => false);
    stream('the key is abc');
    finish('the key is [removed]');
    expect(texts()).toBe('the key is abcthe key is [removed]');
  });
});

describe('a recorded diff', () => {
  const show = async (before: string | null, after: string) => {
    const diff = await createDiff('a.txt', before === null ? null : Buffer.from(before), Buffer.from(after));
    return diffToContent(diff?.text ?? '', '/w/a.txt');
  };
  const lines = (from: number, to: number, change: Record<number, string> = {}) =>
    Array.from({ length: to - from + 1 }, (_, i) => `${change[from + i] ?? `line ${from + i}`}\n`).join('');

  it('has one block for each changed place, with its context', async () => {
    expect(await show(lines(1, 40), lines(1, 40, { 5: 'five', 35: '--- /dev/null' }))).toEqual([
      { type: 'diff', path: '/w/a.txt', oldText: lines(2, 8), newText: lines(2, 8, { 5: 'five' }) },
      { type: 'diff', path: '/w/a.txt', oldText: lines(32, 38), newText: lines(32, 38, { 35: '--- /dev/null' }) },
    ]);
  });

  it('of a new file has no old text, and of an emptied one no new text', async () => {
    expect(await show(null, 'x\n\ny')).toEqual([{ type: 'diff', path: '/w/a.txt', oldText: null, newText: 'x\n\ny' }]);
    expect(await show('x', 'x\n')).toEqual([{ type: 'diff', path: '/w/a.txt', oldText: 'x', newText: 'x\n' }]);
    expect(await show('x\n', '')).toEqual([{ type: 'diff', path: '/w/a.txt', oldText: 'x\n', newText: '' }]);
  });

  it('that was cut says so', async () => {
    const content = await show(null, lines(1, 5000));
    expect(content).toHaveLength(2);
    expect(JSON.stringify(content[1])).toContain('[diff cut: ');
  });
});

it('output of a tool cannot leave its block of code', () => {
  const [content] = outputContent('a\n````\n[link](http://x)\u202e');
  expect(content).toEqual({ type: 'content', content: { type: 'text', text: '`````\na\n````\n[link](http://x)⟦U+202E⟧\n`````' } });
  expect(outputContent(' \n')).toEqual([]);
});
