// The questions of a tree, put to whoever sits at its terminal.
import { describe, expect, it } from 'vitest';
import type { Api, LiveEvent, Question } from '../../../src/api/api.ts';
import type { Progress } from '../../../src/cli/progress/progress.ts';
import { createAsker, readWord } from '../../../src/cli/session/question-prompt.ts';
import { created, fact, question, rootId, world } from '../support.ts';

/** A terminal whose questions are answered by hand; `answer` of the API waits where it is told to. */
function desk(options: { interactive?: boolean; late?: boolean; fails?: boolean; slow?: Promise<void> } = {}) {
  const shown: { text: string; say(text: string | null): void }[] = [];
  const answers: [id: string, answer: object][] = [];
  const notes: string[] = [];
  let held = 0;
  const io = world({
    io: {
      interactive: options.interactive ?? true,
      ask: (text, { signal } = {} as never) =>
        new Promise((resolve) => {
          shown.push({ text, say: resolve });
          signal?.addEventListener('abort', () => resolve(null));
        }),
    },
  });
  const answer = async (id: string, given: object) => {
    answers.push([id, given]);
    await options.slow;
    if (options.fails) throw new Error('the store\x1b]0;x\x07 is gone');
    return { question: question(), result: options.late ? 'late' : 'answered' };
  };
  const progress: Progress = {
    handleEvent() {},
    print: (text) => void notes.push(text),
    suspend: () => {
      held++;
      return () => void held--;
    },
    end() {},
  };
  const asker = createAsker(io, { answer } as unknown as Pick<Api, 'answer'>, progress);
  const say = async (at: number, text: string | null) => {
    shown[at]?.say(text);
    await settled();
  };
  return { asker, shown, answers, notes, say, held: () => held };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const at = (index: number) => question({ index, arguments: { command: `echo ${index}` } });

function asked({ id: _, runId, rootId: __, agent: ___, label: ____, askedAt: _____, ...data }: Question): LiveEvent {
  return fact('approval.asked', data, { runId }) as LiveEvent;
}

function answered(index: number): LiveEvent {
  const data = { turn: 1, index, allowed: true, always: false, by: 'the user', hash: 'f'.repeat(64), reason: null };
  return fact('approval.answered', data as never) as LiveEvent;
}

describe('a word', () => {
  it.each([
    ['y', { allowed: true }],
    [' YES ', { allowed: true }],
    ['a', { allowed: true, always: true }],
    ['Always', { allowed: true, always: true }],
    ['n', { allowed: false }],
    ['no', { allowed: false }],
    ['', { allowed: false }],
    ['  ', { allowed: false }],
    ['use the other file', { allowed: false, reason: 'use the other file' }],
    ['yes please', { allowed: false, reason: 'yes please' }],
    ['yy', { allowed: false, reason: 'yy' }],
  ])('%j', async (text, word) => {
    expect(readWord(text)).toEqual(word);
    const { asker, say, answers } = desk();
    asker.open(at(0));
    await say(0, text);
    expect(answers).toEqual([[`${rootId}.1.0`, { ...word, by: 'the user' }]]);
  });
});

describe('questions', () => {
  it('are put one after the other, in the order in which they came, while nothing else is written', async () => {
    const { asker, shown, say, answers, held } = desk();
    asker.event(created({ agent: 'clerk', label: 'tidy up' }) as LiveEvent);
    for (const index of [0, 1, 2]) asker.event(asked(at(index)));
    expect([shown.length, held()]).toEqual([1, 1]);
    expect(shown[0]?.text).toMatch(/^clerk “tidy up” \(00000000\) asks to use bash[\s\S]*echo 0[\s\S]*it is about:\n {4}ls\nAllow it\?/);
    await say(0, 'y');
    await say(1, 'n');
    await say(2, 'a');
    expect(shown.map(({ text }) => text.match(/echo \d/)?.[0])).toEqual(['echo 0', 'echo 1', 'echo 2']);
    expect(answers.map(([id]) => id)).toEqual([0, 1, 2].map((index) => `${rootId}.1.${index}`));
    expect(answers.map(([, { allowed }]: [string, { allowed?: boolean }]) => allowed)).toEqual([true, false, true]);
    expect(held()).toBe(0);
  });

  it('that come while an answer is told wait for it: never are two shown at once', async () => {
    const slow = Promise.withResolvers<void>();
    const { asker, shown, say } = desk({ slow: slow.promise });
    asker.open(at(0));
    await say(0, 'y');
    asker.open(at(1));
    asker.open(at(2));
    await settled();
    expect(shown).toHaveLength(1);
    slow.resolve();
    await settled();
    expect(shown).toHaveLength(2);
  });

  it('answered elsewhere are asked no more, and a yes that was meant for one does not meet the next', async () => {
    const { asker, shown, say, answers } = desk();
    for (const index of [0, 1, 2]) asker.open(at(index));
    asker.event(answered(1));
    asker.event(answered(0));
    await say(0, 'y');
    expect(shown.map(({ text }) => text.match(/echo \d/)?.[0])).toEqual(['echo 0', 'echo 2']);
    expect(answers).toEqual([]);
    await say(1, 'n');
    expect(answers).toEqual([[`${rootId}.1.2`, { allowed: false, by: 'the user' }]]);
  });

  it('answered elsewhere in the moment of the word are told to be so', async () => {
    const { asker, shown, say, answers, notes } = desk({ late: true });
    asker.open(at(0));
    asker.open(at(1));
    shown[0]?.say('y');
    asker.event(answered(0));
    await settled();
    expect(answers.map(([id]) => id)).toEqual([`${rootId}.1.0`]);
    expect(notes).toEqual(['retinue: 00000000 no longer waits for that answer\n']);
    await say(1, 'n');
    expect(answers.map(([id]) => id)).toEqual([`${rootId}.1.0`, `${rootId}.1.1`]);
  });

  it('end with Ctrl-C: nothing is answered, and no other is put', async () => {
    const { asker, shown, say, answers, held } = desk();
    asker.open(at(0));
    asker.open(at(1));
    await say(0, null);
    asker.open(at(2));
    await settled();
    expect([shown.length, answers, held()]).toEqual([1, [], 0]);
  });

  it('end with the run', async () => {
    const { asker, shown, answers, held } = desk();
    asker.open(at(0));
    asker.open(at(1));
    asker.end();
    await settled();
    expect([shown.length, answers, held()]).toEqual([1, [], 0]);
  });

  it('go on after an answer that did not arrive', async () => {
    const { asker, shown, say, notes } = desk({ fails: true });
    asker.open(at(0));
    asker.open(at(1));
    await say(0, 'y');
    expect(notes).toEqual(['retinue: the answer did not arrive: the store is gone\n']);
    expect(shown).toHaveLength(2);
  });

  it('are told with the way to answer them where nobody sits at a terminal', async () => {
    const { asker, shown, notes } = desk({ interactive: false });
    asker.event(asked(at(0)));
    await settled();
    expect(shown).toEqual([]);
    expect(notes).toEqual([expect.stringMatching(/a run \(00000000\) asks to use bash[\s\S]*`retinue approve 00000000\.1\.0`/)]);
  });
});
