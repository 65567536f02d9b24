// Ralph's two tools as tables: the requests of calls, and the result of every reply.
import { describe, expect, test } from 'vitest';
import {
  createEndedChild,
  createFailedChild,
  createLiveChild,
  createRefusal,
  createRefusedChild,
  id,
  loadDialect,
  mcpContext,
  modelContext,
} from './table-support.ts';

const { dialect, request, result, findProblems } = loadDialect('ralph');
const brief = { agent: 'general', background: true, limits: { timeoutMs: 300_000 }, result: { maxBytes: 16_384 } };

test('test_subagent_manager_init: settings come from the configuration or are defaults', () => {
  expect(dialect.setup).toMatchObject({ limits: { maxDepth: 1, maxConcurrent: 5 }, whenFull: 'refuse', host: 'process' });
  const own = loadDialect('ralph', { max_subagents: 2, subagent_timeout: 10 });
  expect(own.dialect.setup?.limits?.maxConcurrent).toBe(2);
  expect(own.request('subagent', { task: 'x' })).toMatchObject({ briefs: [{ limits: { timeoutMs: 10_000 } }] });
  expect(() => loadDialect('ralph', { max_subagents: 0 })).toThrow(/dialects\.ralph\.max_subagents/);
  expect(() => loadDialect('ralph', { max_agents: 1 })).toThrow(/dialects\.ralph\.max_agents/);
});

test('the first message is that of the source', () => {
  const given = { files: [], memories: [] };
  expect(dialect.setup?.first?.({ task: 't', context: null, ...given })).toBe('t');
  expect(dialect.setup?.first?.({ task: 't', context: 'c', ...given })).toBe('Context: c\n\nTask: t');
  const files = [{ path: 'a', file: { ok: true as const, text: 'A', truncated: false } }];
  expect(dialect.setup?.first?.({ task: 't', context: null, memories: [], files })).toBe('t\n\nFile a:\n```\nA\n```');
});

describe('requests', () => {
  test.each([
    { name: 'subagent', input: { task: ' t ' }, wanted: { kind: 'delegate', briefs: [{ ...brief, task: 't' }], waitMs: 0 } },
    {
      name: 'subagent',
      input: { task: 't', context: 'c' },
      wanted: { kind: 'delegate', briefs: [{ ...brief, task: 't', context: 'c' }], waitMs: 0 },
    },
    { name: 'subagent', input: { task: ' ' }, wanted: { kind: 'refuse', message: 'task: must not be empty' } },
    { name: 'subagent_status', input: { subagent_id: id }, wanted: { kind: 'wait', ids: [id], mode: 'all', waitMs: 0 } },
    { name: 'subagent_status', input: { subagent_id: id, wait: true }, wanted: { kind: 'wait', ids: [id], mode: 'all', waitMs: null } },
    {
      name: 'subagent_status',
      context: mcpContext,
      input: { subagent_id: id, wait: true },
      wanted: { kind: 'wait', ids: [id], mode: 'all', waitMs: 45_000 },
    },
  ])('$name $input', ({ name, input, context = modelContext, wanted }) => {
    expect(request(name, input, context)).toEqual(wanted);
  });

  test.each([
    ['subagent', {}, /^task: /],
    ['subagent', { task: 1 }, /^task: /],
    ['subagent', { task: 't', timeout: 5 }, /timeout/],
    ['subagent_status', { subagent_id: id, wait: 'yes' }, /^wait: /],
    ['subagent_status', { id }, /subagent_id/],
  ])('%s refuses %j by name', (name, input, said) => {
    expect(findProblems(name, input)).toMatch(said);
  });
});

describe('results of subagent', () => {
  test.each([
    { name: 'running', reply: [createLiveChild()], wanted: { subagent_id: id, status: 'running', result: null } },
    { name: 'pending', reply: [createLiveChild({ status: 'queued' })], wanted: { subagent_id: id, status: 'pending', result: null } },
    {
      name: 'full',
      reply: [createRefusal('parent_full', 'x')],
      wanted: {
        subagent_id: null,
        status: 'failed',
        result: null,
        error: 'Too many subagents: 5 are running (max_subagents); wait for one to end',
      },
      isError: true,
    },
    {
      name: 'nested',
      reply: [createRefusal('depth', 'a run at depth 1 may not delegate')],
      wanted: {
        subagent_id: null,
        status: 'failed',
        result: null,
        error: 'Subagents cannot spawn subagents: a run at depth 1 may not delegate',
      },
      isError: true,
    },
  ])('$name', ({ reply, wanted, isError = false }) => {
    const given = result('subagent', { task: 't' }, reply);
    expect(given).toMatchObject({ isError, structured: wanted });
    expect(Object.keys(given.structured as object)).toEqual(Object.keys(wanted));
  });
});

describe('results of subagent_status', () => {
  const none = { progress: null, result: null, error: null };
  test.each([
    {
      name: 'pending',
      child: createLiveChild({ status: 'queued', turns: 0 }),
      wanted: { status: 'pending', ...none, progress: 'not started yet' },
    },
    {
      name: 'at a tool',
      child: createLiveChild({ activity: 'grep' }),
      wanted: { status: 'running', ...none, progress: 'turn 3: tool grep' },
    },
    {
      name: 'at the model',
      child: createLiveChild({ activity: 'model' }),
      wanted: { status: 'running', ...none, progress: 'turn 4: thinking' },
    },
    { name: 'between', child: createLiveChild({ turns: 0 }), wanted: { status: 'running', ...none, progress: 'turn 1' } },
    { name: 'completed', child: createEndedChild(), run: id, wanted: { status: 'completed', ...none, result: 'done it' } },
    {
      name: 'cut',
      child: createEndedChild({ truncated: { originalBytes: 9, keptBytes: 7 } }),
      run: id,
      wanted: {
        status: 'completed',
        ...none,
        result: `done it\n[truncated: kept 7 of 9 bytes]\n[the rest: subagent_status {"subagent_id":"${id}@7"}]`,
      },
    },
    {
      name: 'exhausted: the partial result is kept',
      child: createFailedChild('max_turns', 'the limit of 40 turns was reached', { status: 'exhausted', summary: 'half' }),
      run: id,
      wanted: { status: 'failed', ...none, result: 'half', error: 'Subagent process failed: max_turns: the limit of 40 turns was reached' },
    },
    {
      name: 'timed out',
      child: createFailedChild('deadline', 'the deadline passed', { status: 'timed_out' }),
      wanted: { status: 'timeout', ...none, error: 'Subagent timed out' },
    },
    {
      name: 'cancelled',
      child: createFailedChild('cancelled', 'because', { status: 'cancelled' }),
      wanted: { status: 'failed', ...none, error: 'cancelled' },
    },
    {
      name: 'killed, with the signal',
      child: createFailedChild('crashed', 'the process ended by SIGKILL'),
      wanted: { status: 'failed', ...none, error: 'Subagent process failed: the process ended by SIGKILL' },
    },
    {
      name: 'without a result',
      child: createFailedChild('no_result', 'it exited with 0'),
      wanted: { status: 'failed', ...none, error: 'Subagent process failed: it exited with 0' },
    },
    {
      name: 'garbage',
      child: createFailedChild('invalid_reply', 'step: unknown'),
      wanted: { status: 'failed', ...none, error: 'Subagent process failed: step: unknown' },
    },
    {
      name: 'failed',
      child: createFailedChild('loop', 'again'),
      wanted: { status: 'failed', ...none, error: 'Subagent process failed: loop: again' },
    },
  ])('$name', ({ child, wanted, run }) => {
    const given = result('subagent_status', { subagent_id: id }, [child]);
    expect(given.structured).toEqual({ subagent_id: id, ...wanted });
    expect(Object.keys(given.structured as object)).toEqual(['subagent_id', 'status', 'progress', 'result', 'error']);
    expect(given.isError).toBe(false);
    expect(given.parts[0]?.run).toBe(run);
  });

  test('a page of a long result, with the way to the next page', () => {
    const { view } = createEndedChild();
    const read = (text: string, offset: number) => {
      const page = { kind: 'page' as const, id, page: { text, offset, total: 9 }, view };
      return (result('subagent_status', { subagent_id: `${id}@${offset}` }, page).structured as { result: string }).result;
    };
    expect(loadDialect('ralph').request('subagent_status', { subagent_id: `${id}@4` })).toMatchObject({ kind: 'read', id, offset: 4 });
    expect(read('abc', 4)).toBe(`abc\n[characters 4 to 7 of 9]\n[the rest: subagent_status {"subagent_id":"${id}@7"}]`);
    expect(read('yz', 7)).toBe('yz');
  });

  test('an unknown id', () => {
    expect(result('subagent_status', { subagent_id: 'nope' }, [createRefusedChild('none of yours', 'nope')])).toMatchObject({
      isError: true,
      structured: { subagent_id: 'nope', status: 'failed', progress: null, result: null, error: 'Subagent not found' },
    });
  });
});
