// Approval questions at the terminal of `retinue run`, with real runs behind them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Io } from '../../../src/cli/io.ts';
import { parseAnswer } from '../../../src/cli/session/question-prompt.ts';
import type { FactOf } from '../../../src/contract/fact.ts';
import { type Cli, createCli } from '../support.ts';

const config = { rules: ['ask write'] };
const write = (...names: string[]) => ({ calls: names.map((path) => ({ tool: 'write', args: { path, content: path } })) });
const writing = (...names: string[]) => [{ steps: [write(...names), { text: 'done' }] }];

/** A terminal whose questions are answered by the test. */
function createTerminal() {
  const shown: { text: string; answer(text: string | null): void }[] = [];
  const ask: Io['ask'] = (text, { signal } = {} as never) =>
    new Promise((resolve) => {
      shown.push({ text, answer: resolve });
      signal?.addEventListener('abort', () => resolve(null));
    });
  return {
    io: { interactive: true, ask },
    shown,
    /** Waits for the question and answers it. */
    async answer(at: number, text: string | null): Promise<void> {
      await expect.poll(() => shown.length, { timeout: 10_000 }).toBeGreaterThan(at);
      shown[at]?.answer(text);
    },
    paths: () => shown.map(({ text }) => text.match(/"path": "(\w+)"/)?.[1]),
  };
}

async function answers(cli: Cli): Promise<object[]> {
  const facts = (await cli.facts()).filter(({ type }) => type === 'approval.answered') as FactOf<'approval.answered'>[];
  return facts.map(({ data: { turn, index, allowed, reason, by } }) => ({ turn, index, allowed, reason, by }));
}

describe('an answer', () => {
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
  ])('%j', (text, answer) => expect(parseAnswer(text)).toEqual(answer));

  it('decides whether the call is made, and its text is the reason', async () => {
    using cli = createCli({ runs: [{ steps: [write('a'), write('b'), { expect: { prompt: 'use the other' }, text: 'done' }] }], config });
    const terminal = createTerminal();
    const running = cli.start(['run', 'x', '--label', 'tidy up'], terminal.io);
    await terminal.answer(0, 'y');
    await terminal.answer(1, 'use the other');
    expect(await running.code).toBe(0);
    expect(['a', 'b'].map((name) => existsSync(join(cli.folder, name)))).toEqual([true, false]);
    expect(terminal.shown[0]?.text).toMatch(
      /^general “tidy up” \(\w{8}\) wants to use write; rule `ask write`[\s\S]*affects:\n {4}a\nAllow this call\?/,
    );
    expect(await answers(cli)).toMatchObject([
      { allowed: true, by: 'the user' },
      { allowed: false, reason: 'use the other', by: 'the user' },
    ]);
  });

  it('"always" is not asked again for the same call', async () => {
    using cli = createCli({ runs: [{ steps: [write('a'), write('a'), { text: 'done' }] }], config });
    const terminal = createTerminal();
    const running = cli.start(['run', 'x'], terminal.io);
    await terminal.answer(0, 'a');
    expect(await running.code).toBe(0);
    expect(terminal.shown).toHaveLength(1);
  });
});

describe('several questions', () => {
  it('are asked one after the other in their order, while nothing else is printed', async () => {
    using cli = createCli({ runs: writing('a', 'b', 'c'), config });
    const terminal = createTerminal();
    const running = cli.start(['run', 'x'], { ...terminal.io, errTTY: true });
    await terminal.answer(0, 'y');
    await expect.poll(() => terminal.shown.length).toBe(2);
    const before = running.io.stderr;
    running.io.tick();
    expect([running.io.stderr, terminal.shown.length]).toEqual([before, 2]);
    await terminal.answer(1, 'n');
    await terminal.answer(2, 'y');
    expect(await running.code).toBe(0);
    expect(terminal.paths()).toEqual(['a', 'b', 'c']);
    expect(['a', 'b', 'c'].map((name) => existsSync(join(cli.folder, name)))).toEqual([true, false, true]);
  });

  it('the next is shown only after the answer to the last is saved', async () => {
    using cli = createCli({ runs: writing('a', 'b'), config });
    const terminal = createTerminal();
    const saving = Promise.withResolvers<void>();
    const open: Io['open'] = async (...given) => {
      const api = await cli.parts.open(...given);
      return {
        ...api,
        answer: async (...answer) => {
          await saving.promise;
          return api.answer(...answer);
        },
      };
    };
    const running = cli.start(['run', 'x'], { ...terminal.io, open });
    await terminal.answer(0, 'y');
    await cli.facts();
    expect(terminal.shown).toHaveLength(1);
    saving.resolve();
    await terminal.answer(1, 'n');
    await running.code;
  });

  it('one that is answered elsewhere is withdrawn, and a yes meant for it does not reach the next', async () => {
    using cli = createCli({ runs: writing('a', 'b', 'c'), config });
    const terminal = createTerminal();
    const running = cli.start(['run', 'x'], terminal.io);
    await expect.poll(() => terminal.shown.length, { timeout: 10_000 }).toBe(1);
    const questions = await cli.json<{ id: string }[]>('approve');
    for (const index of [1, 0]) await cli.run(['refuse', questions[index]?.id as string]);
    await expect.poll(() => terminal.shown.length, { timeout: 10_000 }).toBe(2);
    terminal.shown[0]?.answer('y');
    await terminal.answer(1, 'n');
    expect(await running.code).toBe(0);
    expect(terminal.paths()).toEqual(['a', 'c']);
    expect((await answers(cli)).map((answer) => (answer as { allowed: boolean }).allowed)).toEqual([false, false, false]);
  });

  it('an answer that comes just too late is reported', async () => {
    using cli = createCli({ runs: writing('a'), config });
    const terminal = createTerminal();
    const open: Io['open'] = async (...given) => {
      const api = await cli.parts.open(...given);
      return {
        ...api,
        // Another answer was first.
        answer: async (id) => ({ ...(await api.answer(id, { allowed: false, by: 'somebody else' })), result: 'late' }),
      };
    };
    const running = cli.start(['run', 'x'], { ...terminal.io, open });
    await terminal.answer(0, 'y');
    expect(await running.code).toBe(0);
    expect(running.io.stderr).toMatch(/retinue: \w{8} no longer waits for that answer\n/);
    expect(existsSync(join(cli.folder, 'a'))).toBe(false);
  });

  it('an answer that cannot be saved is reported, and the next question is asked', async () => {
    using cli = createCli({ runs: writing('a', 'b'), config });
    const terminal = createTerminal();
    let failures = 1;
    const open: Io['open'] = async (...given) => {
      const api = await cli.parts.open(...given);
      const answer: typeof api.answer = async (...answered) => {
        if (failures-- > 0) throw new Error('the store\x1b]0;x\x07 is gone');
        return api.answer(...answered);
      };
      return { ...api, answer };
    };
    const running = cli.start(['run', 'x'], { ...terminal.io, open });
    await terminal.answer(0, 'y');
    await terminal.answer(1, 'y');
    expect(running.io.stderr).toContain('retinue: the answer could not be saved: the store is gone\n');
    await expect.poll(async () => (await cli.run(['approve', 'last'])).code).toBe(0);
    expect(await running.code).toBe(0);
  });

  it('Ctrl-C at a question answers nothing, asks no more and cancels the run', async () => {
    using cli = createCli({ runs: writing('a', 'b'), config });
    const terminal = createTerminal();
    const running = cli.start(['run', 'x'], terminal.io);
    await expect.poll(() => terminal.shown.length, { timeout: 10_000 }).toBe(1);
    running.io.stop();
    terminal.shown[0]?.answer(null);
    expect(await running.code).toBe(130);
    expect([terminal.shown.length, existsSync(join(cli.folder, 'a'))]).toEqual([1, false]);
  });

  it('end with the run', async () => {
    using cli = createCli({ runs: writing('a', 'b'), config });
    const terminal = createTerminal();
    const running = cli.start(['run', 'x'], terminal.io);
    await expect.poll(() => terminal.shown.length, { timeout: 10_000 }).toBe(1);
    await cli.run(['cancel', 'last']);
    expect(await running.code).toBe(130);
    expect(terminal.shown).toHaveLength(1);
  });
});

it('without a terminal the commands that answer are printed', async () => {
  using cli = createCli({ runs: writing('a'), config });
  const running = cli.start(['run', '--ask', '1m', 'x']);
  await expect.poll(() => running.io.stderr, { timeout: 10_000 }).toMatch(/wants to use write[\s\S]*`retinue approve \w{8}\.1\.0`/);
  await cli.run(['approve', 'last']);
  expect(await running.code).toBe(0);
  expect(existsSync(join(cli.folder, 'a'))).toBe(true);
});

it('a question that was open before `resume` is asked again, and withdrawn when it is answered elsewhere', async () => {
  using cli = createCli({ runs: writing('a'), config });
  const first = cli.start(['run', '--ask', '1m', 'x']);
  await cli.untilFact('approval.asked');
  first.io.stop('terminate');
  expect(await first.code).toBe(143);
  const terminal = createTerminal();
  const running = cli.start(['resume'], terminal.io);
  await expect.poll(() => terminal.shown.length, { timeout: 10_000 }).toBe(1);
  await cli.run(['approve', 'last']);
  expect(await running.code).toBe(0);
  expect([existsSync(join(cli.folder, 'a')), terminal.shown.length]).toEqual([true, 1]);
});
