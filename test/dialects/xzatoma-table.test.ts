// XZatoma's two tools as tables, named after the unit tests of the source.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createEndedChild, createFailedChild, createLiveChild, createRefusal, id, loadDialect } from './table-support.ts';

const { dialect, request, result, tool, findProblems } = loadDialect('xzatoma');
const input = { label: 'research', task_prompt: 'look' };
const brief = {
  task: 'look',
  label: 'research',
  agent: 'xzatoma/subagent',
  limits: { maxTurns: 10 },
  result: { prompt: 'Summarize your findings concisely', maxBytes: 4096 },
};
const own = ['subagent', 'parallel_subagent'];
const asks = (more: object) => {
  const asked = request('subagent', { ...input, ...more });
  return asked.kind === 'delegate' ? asked.briefs[0] : asked;
};
const refuse = (message: string) => ({ kind: 'refuse', message });

describe('Input Parsing (Tests 1-3)', () => {
  test('1: valid input with all fields', () => {
    expect(asks({ summary_prompt: 'short', allowed_tools: ['grep'], max_turns: 5 })).toEqual({
      ...brief,
      limits: { maxTurns: 5 },
      result: { prompt: 'short', maxBytes: 4096 },
      tools: { allow: ['grep', ...own] },
    });
  });

  test.each([
    [{ label: 'x' }, /^task_prompt: /],
    [{ task_prompt: 'x' }, /^label: /],
    [{ ...input, allowed_tools: 'grep' }, /^allowed_tools: /],
    [{ ...input, max_turns: '5' }, /^max_turns: /],
    [{ ...input, tools: [] }, /tools/],
  ])('2: missing required fields and wrong types rejected: %j', (given, said) => {
    expect(findProblems('subagent', given)).toMatch(said);
  });

  test.each([{}, { allowed_tools: null, summary_prompt: null, max_turns: null }, { summary_prompt: ' ' }])(
    '3: optional fields default correctly: %j',
    (more) => {
      expect(asks(more)).toEqual(brief);
    },
  );
});

describe('Recursion Safety (Tests 4-5)', () => {
  test('4: depth limit enforced (depth >= 3 fails), with the depth named', () => {
    expect(dialect.setup).toMatchObject({ limits: { maxDepth: 2 }, offerAlways: true, root: 'xzatoma/main' });
    const told = 'a run at depth 2 may not delegate: the deepest allowed level is 2';
    expect(result('subagent', input, [createRefusal('depth', told)])).toMatchObject({
      isError: true,
      structured: {
        success: false,
        output: '',
        error: `Maximum recursion depth exceeded: ${told}`,
        metadata: { subagent_label: 'research' },
      },
    });
  });

  test('5: depth 0 allows execution', () => {
    expect(request('subagent', input)).toMatchObject({ kind: 'delegate', waitMs: null });
  });
});

describe('Tool Filtering (Tests 6-9)', () => {
  test.each([
    ['6: default: no filter', {}, undefined],
    ['7: whitelist: only specified tools', { allowed_tools: ['grep', 'read'] }, ['grep', 'read', ...own]],
    ['7: file_ops', { allowed_tools: ['file_ops', 'grep'] }, ['read', 'list', 'glob', 'grep', ...own]],
    ['7: fetch', { allowed_tools: ['fetch'] }, ['webfetch', ...own]],
    ['7: terminal', { allowed_tools: ['terminal', 'bash'] }, ['bash', ...own]],
    ['7: none', { allowed_tools: [] }, own],
  ])('%s', (_, more, allow) => {
    expect((asks(more) as { tools?: object }).tools).toEqual(allow && { allow });
  });

  test.each(own)('8: rejects %s in whitelist', (name) => {
    expect(asks({ allowed_tools: ['grep', name] })).toEqual(
      refuse(`allowed_tools: \`${name}\` cannot be listed; the depth limit controls it`),
    );
  });

  test('9: rejects unknown tools, by name', () => {
    const given = result('subagent', { ...input, allowed_tools: ['grpe'] }, [createRefusal('unknown_tool', 'there is no tool `grpe`')]);
    expect(given).toMatchObject({ isError: true, structured: { error: 'allowed_tools: there is no tool `grpe`' } });
  });
});

describe('Validation (Tests 10-12)', () => {
  test.each([
    ['10: empty task_prompt rejected', { task_prompt: ' \n' }, 'task_prompt: must not be empty'],
    ['11: empty label rejected', { label: ' ' }, 'label: must not be empty'],
    ['12: max_turns bounds enforced', { max_turns: 0 }, 'max_turns: must be from 1 to 50'],
    ['12: max_turns bounds enforced', { max_turns: 51 }, 'max_turns: must be from 1 to 50'],
  ])('%s', (_, more, message) => {
    expect(asks(more)).toEqual(refuse(message));
    const error = { code: 'invalid_brief' as const, message, retryable: false };
    expect(result('subagent', { ...input, ...more }, { kind: 'refused', error })).toMatchObject({
      isError: true,
      structured: { success: false, output: '', error: message, metadata: {} },
    });
  });

  test.each([1, 50])('12: %i turns are allowed', (max_turns) => {
    expect(asks({ max_turns })).toMatchObject({ limits: { maxTurns: max_turns } });
  });
});

test('Functionality 13: tool definition schema correct', () => {
  const schema = z.toJSONSchema(tool('subagent').input, { io: 'input' });
  expect(schema.required).toEqual(['label', 'task_prompt']);
  expect(Object.keys(schema.properties ?? {})).toEqual(['label', 'task_prompt', 'summary_prompt', 'allowed_tools', 'max_turns']);
});

describe('results', () => {
  const tokens = { input: 30, output: 12, cached: 0, reasoning: 0 };
  const metadata = {
    subagent_label: 'research',
    recursion_depth: '1',
    completion_status: 'complete',
    turns_used: '12',
    max_turns_reached: 'false',
    tokens_consumed: '42',
  };
  const incomplete = { ...metadata, completion_status: 'incomplete' };
  const more = { label: 'research', tokens };
  test.each([
    {
      name: '14, 15: success with metadata',
      child: createEndedChild(more),
      wanted: { success: true, output: 'done it', error: null, metadata },
    },
    {
      name: '16: max turns exceeded: partial results with metadata',
      child: createFailedChild('max_turns', 'enough', { ...more, status: 'exhausted', terminated: 'max_turns', summary: 'half' }),
      wanted: { success: true, output: 'half', error: null, metadata: { ...incomplete, max_turns_reached: 'true' } },
    },
    {
      name: 'exhausted without a text',
      child: createFailedChild('max_tokens', 'enough', { ...more, status: 'exhausted', terminated: 'max_tokens' }),
      wanted: { success: false, output: '', error: 'max_tokens: enough', metadata: incomplete },
    },
    {
      name: 'timed out',
      child: createFailedChild('deadline', 'late', { ...more, status: 'timed_out', summary: 'half' }),
      wanted: { success: false, output: 'half', error: 'deadline: late', metadata: incomplete },
    },
    {
      name: 'cancelled',
      child: createFailedChild('cancelled', 'enough', { ...more, status: 'cancelled' }),
      wanted: { success: false, output: '', error: 'cancelled: enough', metadata: incomplete },
    },
    {
      name: 'failed',
      child: createFailedChild('loop', 'again', more),
      wanted: { success: false, output: '', error: 'loop: again', metadata: incomplete },
    },
    {
      name: 'cut',
      child: createEndedChild({ ...more, truncated: { originalBytes: 9000, keptBytes: 4096 } }),
      wanted: { success: true, output: 'done it\n[truncated: kept 4096 of 9000 bytes]', error: null, metadata },
    },
  ])('$name', ({ child, wanted }) => {
    const given = result('subagent', input, [child]);
    expect(given).toMatchObject({ isError: false, parts: [{ text: JSON.stringify(wanted), run: id }] });
  });
});

describe('parallel_subagent', () => {
  const tasks = [input, { ...input, label: 'other' }];
  test('requests all tasks with a concurrency limit', () => {
    const briefs = [brief, { ...brief, label: 'other' }];
    expect(request('parallel_subagent', { tasks })).toEqual({ kind: 'delegate', briefs, waitMs: null, atOnce: 5 });
    expect(request('parallel_subagent', { tasks, max_concurrent: 2 })).toMatchObject({ atOnce: 2 });
  });

  test.each([
    [{ tasks: [] }, 'tasks: must be 1 to 50'],
    [{ tasks: Array(51).fill(input) }, 'tasks: must be 1 to 50'],
    [{ tasks, max_concurrent: 0 }, 'max_concurrent: must be from 1 to 50'],
    [{ tasks: [input, { ...input, label: '' }] }, 'tasks[1].label: must not be empty'],
    [{ tasks: [{ ...input, task_prompt: '' }] }, 'tasks[0].task_prompt: must not be empty'],
  ])('refusals name the parameter: %#', (given, message) => {
    expect(request('parallel_subagent', given)).toEqual(refuse(message));
    const error = { code: 'invalid_brief' as const, message, retryable: false };
    expect(result('parallel_subagent', given, { kind: 'refused', error })).toMatchObject({
      isError: true,
      structured: { results: [], error: message },
    });
  });

  test('results in task order; a refused task is not an error of the others', () => {
    const given = result('parallel_subagent', { tasks }, [createRefusal('max_runs', 'enough'), createEndedChild({ label: 'other' })]);
    expect(given).toMatchObject({
      isError: false,
      structured: {
        results: [
          { success: false, error: 'enough', metadata: { subagent_label: 'research' } },
          { success: true, output: 'done it', metadata: { subagent_label: 'other' } },
        ],
      },
    });
    expect(given.parts[0]?.run).toBe(id);
    expect(result('parallel_subagent', { tasks }, [createRefusal('max_runs', 'x'), createRefusal('max_runs', 'x')]).isError).toBe(true);
    expect(result('parallel_subagent', { tasks }, [createLiveChild(), createEndedChild()]).isError).toBe(false);
  });
});

test('configuration', () => {
  const set = loadDialect('xzatoma', {
    max_depth: 2,
    default_max_turns: 4,
    output_max_size: 100,
    conversation: { max_tokens: 5000, min_retain_turns: 1, prune_threshold: 0.5 },
  });
  expect(set.dialect.setup).toMatchObject({ limits: { maxDepth: 1 }, context: { maxTokens: 5000, keptTurns: 1, startAt: 0.5 } });
  expect(set.request('subagent', input)).toMatchObject({ briefs: [{ limits: { maxTurns: 4 }, result: { maxBytes: 100 } }] });
  expect(() => loadDialect('xzatoma', { conversation: { prune_threshold: 2 } })).toThrow(
    /dialects\.xzatoma\.conversation\.prune_threshold/,
  );
});
