import { describe, expect, test } from 'vitest';
import { ended, id, live, mcp, model, refused, result, task } from './table-support.ts';

const head = (reply: Parameters<typeof result>[2]): string => result('delegate_wait', {}, reply).parts[0]?.text ?? '';
const artifact = (kind: 'path' | 'diff' | 'note', value: string, title?: string) => ({
  kind,
  value,
  bytes: 1,
  ...(title !== undefined && { title }),
});

describe('the first line', () => {
  test.each([
    { child: ended(), line: `[run ${id} · completed · 12 turns · $0.08]` },
    { child: ended({ turns: 1, costUsd: null }), line: `[run ${id} · completed · 1 turn · $?]` },
    { child: ended({ costUsd: 0 }), line: `[run ${id} · completed · 12 turns · $0.00]` },
    { child: ended({ costUsd: 0.00042 }), line: `[run ${id} · completed · 12 turns · $0.0004]` },
    {
      child: ended({
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
      child: ended({ artifacts: [artifact('path', 'a'), artifact('path', 'a')] }),
      line: `[run ${id} · completed · 12 turns · $0.08 · 1 file changed]`,
    },
    { child: ended({ label: 'my\n[run x] "label"' }), line: `[run ${id} · completed · 12 turns · $0.08 · "my [run x] \\"label\\""]` },
    { child: ended({ status: 'timed_out' }), line: `[run ${id} · timed_out · 12 turns · $0.08]` },
    { child: live(), line: `[run ${id} · running · 3 turns · $0.01]` },
    { child: live({ status: 'queued', turns: 0, costUsd: null }), line: `[run ${id} · queued · 0 turns · $?]` },
    { child: live({ status: 'waiting', label: 'l' }), line: `[run ${id} · waiting · 3 turns · $0.01 · "l"]` },
  ])('$line', ({ child, line }) => {
    expect(head([child])).toBe(line);
  });
});

describe('what follows it', () => {
  test.each([
    { name: 'the summary, marked as the child’s', child: ended(), parts: [{ text: 'done it', run: id }] },
    {
      name: 'an error, on one line',
      child: ended({ status: 'failed', success: false, summary: '', error: { code: 'loop', message: 'again\n[run x]', retryable: false } }),
      parts: [{ text: 'loop: again [run x]' }],
    },
    {
      name: 'an error and what there is of the work',
      child: ended({
        status: 'exhausted',
        success: false,
        terminated: 'max_turns',
        error: { code: 'max_turns', message: '40 turns', retryable: false },
      }),
      parts: [{ text: 'max_turns: 40 turns' }, { text: 'done it', run: id }],
    },
    {
      name: 'a cause without an error',
      child: ended({ status: 'cancelled', summary: '', terminated: 'cancelled' }),
      parts: [{ text: 'Reason: cancelled' }],
    },
    {
      name: 'data',
      child: ended({ data: { n: [1] } }),
      parts: [
        { text: 'done it', run: id },
        { text: '{"n":[1]}', run: id },
      ],
    },
    {
      name: 'how to read the rest',
      child: ended({ truncated: { originalBytes: 100, keptBytes: 7 } }),
      parts: [
        { text: 'done it', run: id },
        { text: `Shown: 7 of 100 bytes. Read the rest with delegate_read {"id":"${id}","part":"summary","offset":7}` },
      ],
    },
  ])('$name', ({ child, parts }) => {
    for (const name of ['delegate', 'delegate_wait']) {
      const { parts: all, isError } = result(name, name === 'delegate' ? task : {}, [child]);
      expect(all.slice(1)).toEqual(parts);
      expect(isError).toBe(false);
    }
  });
});

describe('delegate', () => {
  test('runs that are not done: how to go on', () => {
    const { parts } = result('delegate', task, [ended(), live()]);
    expect(parts.at(-1)?.text).toBe(
      'Unfinished runs continue. Use delegate_wait to wait for their results. You are also notified when a run ends.',
    );
    expect(result('delegate', task, [live()], mcp).parts.at(-1)?.text).toMatch(/wait for their results\.$/);
    expect(result('delegate', task, [ended()]).parts).toHaveLength(2);
  });

  test('a refusal names its task', () => {
    const { parts, isError } = result('delegate', task, [ended(), refused('no agent "x"')]);
    expect(parts.at(-1)?.text).toBe('[task 2 of 2 · refused] unknown_agent: no agent "x"');
    expect(isError).toBe(false);
  });

  test('all refused is an error', () => {
    expect(result('delegate', task, [refused('a'), refused('b')]).isError).toBe(true);
  });
});

describe('the other tools', () => {
  test('nothing is open', () => {
    expect(result('delegate_wait', {}, [])).toEqual({ parts: [{ text: 'No delegated run is open.' }], isError: false });
  });

  test.each(['delegate_wait', 'delegate_cancel'])('%s: an unknown id', (name) => {
    const reply = [refused('none of yours', 'abc\n')];
    expect(result(name, { ids: ['abc\n'] }, reply)).toEqual({
      parts: [{ text: '[run abc · refused] unknown_run: none of yours' }],
      isError: true,
    });
    expect(result(name, { ids: [id, 'abc'] }, [live(), ...reply]).isError).toBe(false);
  });

  test('cancel shows how the runs stand', () => {
    expect(result('delegate_cancel', { ids: [id] }, [ended({ status: 'cancelled', summary: '' })]).parts[0]?.text).toContain(
      '· cancelled ·',
    );
  });

  test('message: passed on, or taken as a follow-up', () => {
    expect(result('delegate_message', { id, text: 't' }, [live()]).parts[1]?.text).toBe(
      'The message was delivered. The run reads it at its next turn.',
    );
    const next = '1111111111111111';
    expect(result('delegate_message', { id, text: 't' }, [live({ runId: next })]).parts).toEqual([
      { text: `[run ${next} · running · 3 turns · $0.01]` },
      { text: `Run ${id} had finished; run ${next} continues its conversation. Use delegate_wait to wait for it.` },
    ]);
    expect(result('delegate_message', { id, text: 't' }, [refused('gone', id)]).isError).toBe(true);
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
    expect(result('delegate_read', { id, part: 'summary' }, { kind: 'page', id, page })).toEqual({ parts: wanted, isError: false });
  });

  test.each([
    ['delegate', task],
    ['delegate_wait', {}],
    ['delegate_message', { id, text: 't' }],
    ['delegate_read', { id, part: 'log' }],
    ['delegate_cancel', { ids: [id] }],
  ])('%s: a request that was refused', (name, input) => {
    const error = { code: 'depth' as const, message: 'too\ndeep', retryable: false };
    expect(result(name, input, { kind: 'refused', error }, model)).toEqual({
      parts: [{ text: '[refused] depth: too deep' }],
      isError: true,
    });
  });
});
