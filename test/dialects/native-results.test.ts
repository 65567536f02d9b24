import { describe, expect, test } from 'vitest';
import { createEndedChild, createLiveChild, createRefusedChild, id, makeResult, mcpContext, modelContext, task } from './table-support.ts';

const head = (reply: Parameters<typeof makeResult>[2]): string => makeResult('delegate_wait', {}, reply).parts[0]?.text ?? '';
const artifact = (kind: 'path' | 'diff' | 'note', value: string, title?: string) => ({
  kind,
  value,
  bytes: 1,
  ...(title !== undefined && { title }),
});

describe('the first line', () => {
  test.each([
    { child: createEndedChild(), line: `[run ${id} · completed · 12 turns · $0.08]` },
    { child: createEndedChild({ turns: 1, costUsd: null }), line: `[run ${id} · completed · 1 turn · $?]` },
    { child: createEndedChild({ costUsd: 0 }), line: `[run ${id} · completed · 12 turns · $0.00]` },
    { child: createEndedChild({ costUsd: 0.00042 }), line: `[run ${id} · completed · 12 turns · $0.0004]` },
    {
      child: createEndedChild({
        artifacts: [
          artifact('path', 'a'),
          artifact('diff', '@@', 'a'),
          artifact('path', 'b'),
          artifact('path', 'c'),
          artifact('note', 'n'),
        ],
      }),
      line: `[run ${id} · completed · 12 turns · $0.08 · 3 files changed]`,
    },
    {
      child: createEndedChild({ artifacts: [artifact('path', 'a'), artifact('path', 'a')] }),
      line: `[run ${id} · completed · 12 turns · $0.08 · 1 file changed]`,
    },
    {
      child: createEndedChild({ label: 'my\n[run x] "label"' }),
      line: `[run ${id} · completed · 12 turns · $0.08 · "my [run x] \\"label\\""]`,
    },
    { child: createEndedChild({ status: 'timed_out' }), line: `[run ${id} · timed_out · 12 turns · $0.08]` },
    { child: createEndedChild({ verified: true }), line: `[run ${id} · completed · verified · 12 turns · $0.08]` },
    { child: createEndedChild({ status: 'failed', verified: false }), line: `[run ${id} · failed · not verified · 12 turns · $0.08]` },
    { child: createLiveChild(), line: `[run ${id} · running · 3 turns · $0.01]` },
    { child: createLiveChild({ status: 'queued', turns: 0, costUsd: null }), line: `[run ${id} · queued · 0 turns · $?]` },
    { child: createLiveChild({ status: 'waiting', label: 'l' }), line: `[run ${id} · waiting · 3 turns · $0.01 · "l"]` },
  ])('$line', ({ child, line }) => {
    expect(head([child])).toBe(line);
  });
});

describe('the lines after it', () => {
  test.each([
    { name: 'the summary, marked with its run', child: createEndedChild(), parts: [{ text: 'done it', run: id }] },
    {
      name: 'an error, on one line',
      child: createEndedChild({
        status: 'failed',
        success: false,
        summary: '',
        error: { code: 'loop', message: 'again\n[run x]', retryable: false },
      }),
      parts: [{ text: 'loop: again [run x]' }],
    },
    {
      name: 'an error and the partial work',
      child: createEndedChild({
        status: 'exhausted',
        success: false,
        terminated: 'max_turns',
        error: { code: 'max_turns', message: '40 turns', retryable: false },
      }),
      parts: [{ text: 'max_turns: 40 turns' }, { text: 'done it', run: id }],
    },
    {
      name: 'a cause without an error',
      child: createEndedChild({ status: 'cancelled', summary: '', terminated: 'cancelled' }),
      parts: [{ text: 'Reason: cancelled' }],
    },
    {
      name: 'data',
      child: createEndedChild({ data: { n: [1] } }),
      parts: [
        { text: 'done it', run: id },
        { text: '{"n":[1]}', run: id },
      ],
    },
    {
      name: 'how to read the rest',
      child: createEndedChild({ truncated: { originalBytes: 100, keptBytes: 7 } }),
      parts: [
        { text: 'done it', run: id },
        { text: `Shown: 7 of 100 bytes. Read the rest with delegate_read {"id":"${id}","part":"summary","offset":7}` },
      ],
    },
  ])('$name', ({ child, parts }) => {
    for (const name of ['delegate', 'delegate_wait']) {
      const { parts: all, isError } = makeResult(name, name === 'delegate' ? task : {}, [child]);
      expect(all.slice(1)).toEqual(parts);
      expect(isError).toBe(false);
    }
  });
});

describe('delegate', () => {
  test('unfinished runs: how to wait for them', () => {
    const { parts } = makeResult('delegate', task, [createEndedChild(), createLiveChild()]);
    expect(parts.at(-1)?.text).toBe(
      'Unfinished runs continue. Use delegate_wait to wait for their results. You are also notified when a run ends.',
    );
    expect(makeResult('delegate', task, [createLiveChild()], mcpContext).parts.at(-1)?.text).toMatch(/wait for their results\.$/);
    expect(makeResult('delegate', task, [createEndedChild()]).parts).toHaveLength(2);
  });

  test('a refusal names its task', () => {
    const { parts, isError } = makeResult('delegate', task, [createEndedChild(), createRefusedChild('no agent "x"')]);
    expect(parts.at(-1)?.text).toBe('[task 2 of 2 · refused] unknown_agent: no agent "x"');
    expect(isError).toBe(false);
  });

  test('all refused is an error', () => {
    expect(makeResult('delegate', task, [createRefusedChild('a'), createRefusedChild('b')]).isError).toBe(true);
  });
});

describe('the other tools', () => {
  test('nothing is open', () => {
    expect(makeResult('delegate_wait', {}, [])).toEqual({ parts: [{ text: 'No delegated run is open.' }], isError: false });
  });

  test.each(['delegate_wait', 'delegate_cancel'])('%s: an unknown id', (name) => {
    const reply = [createRefusedChild('none of yours', 'abc\n')];
    expect(makeResult(name, { ids: ['abc\n'] }, reply)).toEqual({
      parts: [{ text: '[run abc · refused] unknown_run: ids: none of yours' }],
      isError: true,
    });
    expect(makeResult(name, { ids: [id, 'abc'] }, [createLiveChild(), ...reply]).isError).toBe(false);
  });

  test('cancel shows the state of the runs', () => {
    expect(makeResult('delegate_cancel', { ids: [id] }, [createEndedChild({ status: 'cancelled', summary: '' })]).parts[0]?.text).toContain(
      '· cancelled ·',
    );
  });

  test('a message is delivered or starts a follow-up run', () => {
    expect(makeResult('delegate_message', { id, text: 't' }, [createLiveChild()]).parts[1]?.text).toBe(
      'The message was delivered. The run reads it at its next turn.',
    );
    const next = '1111111111111111';
    expect(makeResult('delegate_message', { id, text: 't' }, [createLiveChild({ runId: next })]).parts).toEqual([
      { text: `[run ${next} · running · 3 turns · $0.01]` },
      { text: `Run ${id} had finished; run ${next} continues its conversation. Use delegate_wait to wait for it.` },
    ]);
    expect(makeResult('delegate_message', { id, text: 't' }, [createRefusedChild('gone', id)]).isError).toBe(true);
  });

  test.each([
    {
      page: { text: 'abc', offset: 2, total: 9 },
      parts: [{ text: 'abc', run: id }, { text: 'There is more. Continue with offset 5.' }],
      range: '2 to 5 of 9',
    },
    { page: { text: 'abc', offset: 6, total: 9 }, parts: [{ text: 'abc', run: id }], range: '6 to 9 of 9' },
    { page: { text: '', offset: 0, total: 0 }, parts: [], range: '0 to 0 of 0' },
  ])('read $range', ({ page, parts, range }) => {
    const wanted = [{ text: `[run ${id} · summary · characters ${range}]` }, ...parts];
    expect(makeResult('delegate_read', { id, part: 'summary' }, { kind: 'page', id, page })).toEqual({ parts: wanted, isError: false });
  });

  test.each([
    ['delegate', task],
    ['delegate_wait', {}],
    ['delegate_message', { id, text: 't' }],
    ['delegate_read', { id, part: 'log' }],
    ['delegate_cancel', { ids: [id] }],
  ])('%s: a request that was refused', (name, input) => {
    const error = { code: 'depth' as const, message: 'too\ndeep', retryable: false };
    expect(makeResult(name, input, { kind: 'refused', error }, modelContext)).toEqual({
      parts: [{ text: '[refused] depth: too deep' }],
      isError: true,
    });
  });
});
