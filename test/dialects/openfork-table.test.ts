// OpenFork's three tools as tables: the requests of calls, and the texts of the source.
import { describe, expect, test } from 'vitest';
import { renderResultParts } from '../../src/conversation/result-parts.ts';
import type { DialectResult } from '../../src/ports/dialect.ts';
import {
  createEndedChild,
  createFailedChild,
  createLiveChild,
  createRefusal,
  id,
  loadDialect,
  mcpContext,
  modelContext,
} from './table-support.ts';

const { dialect, request, result, findProblems } = loadDialect('openfork');
const input = { subagent_type: 'explore', prompt: 'find it', description: 'Find the thing' };
const brief = { task: 'find it', label: 'Find the thing', agent: 'openfork/explore', result: { mode: 'full' } };
const text = ({ parts }: DialectResult) =>
  renderResultParts(
    parts.map((part) => ({ text: part.text })),
    1e6,
  );

describe('requests', () => {
  test.each([
    { name: 'task', input, wanted: { kind: 'delegate', briefs: [brief], waitMs: null } },
    { name: 'task', input, context: mcpContext, wanted: { kind: 'delegate', briefs: [brief], waitMs: 45_000 } },
    {
      name: 'task',
      input: { ...input, run_in_background: true },
      wanted: { kind: 'delegate', briefs: [{ ...brief, background: true }], waitMs: 0 },
    },
    {
      name: 'task',
      input: { ...input, max_turns: 50 },
      wanted: { kind: 'delegate', briefs: [{ ...brief, limits: { maxTurns: 50 } }], waitMs: null },
    },
    {
      name: 'task',
      input: { ...input, max_turns: 51 },
      wanted: { kind: 'delegate', briefs: [{ ...brief, limits: { maxTurns: 50 } }], waitMs: null },
    },
    { name: 'task', input: { ...input, max_turns: 0 }, wanted: { kind: 'refuse', message: 'max_turns: must be at least 1' } },
    { name: 'task', input: { ...input, prompt: ' ' }, wanted: { kind: 'refuse', message: 'prompt: must not be empty' } },
    { name: 'task', input: { ...input, description: '' }, wanted: { kind: 'refuse', message: 'description: must not be empty' } },
    {
      name: 'task',
      input: { ...input, description: 'x'.repeat(201) },
      wanted: { kind: 'refuse', message: expect.stringMatching(/^description: /) },
    },
    { name: 'task_status', input: { id }, wanted: { kind: 'wait', ids: [id], mode: 'all', waitMs: 0 } },
    { name: 'task_status', input: { id, wait: true }, wanted: { kind: 'wait', ids: [id], mode: 'all', waitMs: null } },
    {
      name: 'task_status',
      context: mcpContext,
      input: { id, wait: true },
      wanted: { kind: 'wait', ids: [id], mode: 'all', waitMs: 45_000 },
    },
    { name: 'task_cancel', input: { id }, wanted: { kind: 'cancel', ids: [id], reason: null } },
  ])('$name $input', ({ name, input, context = modelContext, wanted }) => {
    expect(request(name, input, context)).toEqual(wanted);
  });

  test.each([
    ['task', { ...input, subagent_type: 'coder' }, /^subagent_type: /],
    ['task', { ...input, prompt: undefined }, /^prompt: /],
    ['task', { ...input, background: true }, /background/],
    ['task', { ...input, max_turns: '9' }, /^max_turns: /],
    ['task_status', { wait: true }, /^id: /],
    ['task_cancel', { id: 7 }, /^id: /],
  ])('%s refuses %j by name', (name, given, said) => {
    expect(findProblems(name, given)).toMatch(said);
  });
});

describe('results of task', () => {
  const failed = (message: string, more: object) => createFailedChild('max_turns', message, more);
  test.each([
    {
      name: 'completed',
      child: createEndedChild({ agent: 'openfork/explore' }),
      said: '## Subagent Result (explore)\n\ndone it',
      isError: false,
    },
    {
      name: 'cut',
      child: createEndedChild({ agent: 'openfork/general', truncated: { originalBytes: 9, keptBytes: 7 } }),
      said: '## Subagent Result (general)\n\ndone it\n[truncated: kept 7 of 9 bytes]',
      isError: false,
    },
    {
      name: 'exhausted',
      child: failed('the limit of 15 turns was reached', { status: 'exhausted', summary: 'half' }),
      said: 'Subagent failed: the limit of 15 turns was reached\n\nhalf',
      isError: true,
    },
    {
      name: 'timed out',
      child: createFailedChild('deadline', 'the deadline passed', { status: 'timed_out' }),
      said: 'Subagent failed: the deadline passed',
      isError: true,
    },
    {
      name: 'cancelled',
      child: createFailedChild('cancelled', 'enough', { status: 'cancelled' }),
      said: 'Subagent failed: cancelled (enough)',
      isError: true,
    },
    { name: 'failed', child: createFailedChild('loop', 'again'), said: 'Subagent failed: again', isError: true },
  ])('$name', ({ child, said, isError }) => {
    const given = result('task', input, [child]);
    expect(text(given)).toBe(said);
    expect(given.isError).toBe(isError);
  });

  const row = { agent: 'openfork/explore', label: 'Find the thing' };
  const lines = `- ID: ${id}\n- Type: explore\n- Description: Find the thing`;
  const hint = "\n\nUse 'task_status' to check progress or wait for completion event.";
  test('launched in the background', () => {
    const given = result('task', { ...input, run_in_background: true }, [createLiveChild(row)]);
    expect(text(given)).toBe(`Subagent launched in background.\n${lines}${hint}`);
  });

  test('still at work when a client’s patience is over', () => {
    expect(text(result('task', input, [createLiveChild(row)], mcpContext))).toBe(`Subagent is still running.\n${lines}${hint}`);
  });

  test.each([
    { reply: createRefusal('depth', 'x'), said: 'This agent cannot spawn subagents. Only primary agents can use the task tool.' },
    { reply: createRefusal('max_runs', 'enough'), said: 'Subagent failed: enough' },
  ])('refused: $said', ({ reply, said }) => {
    expect(result('task', input, [reply])).toEqual({ parts: [{ text: said }], isError: true });
  });
});

describe('results of task_status and task_cancel', () => {
  const row = { agent: 'openfork/explore', label: 'Find the thing' };
  const lines = `- ID: ${id}\n- Type: explore\n- Description: Find the thing`;
  const done = (child: ReturnType<typeof createEndedChild>) => {
    Object.assign(child.view.row, row);
    return child;
  };
  test.each([
    { child: createLiveChild({ ...row, status: 'queued' }), said: `Status: pending\n${lines}` },
    { child: createLiveChild({ ...row, status: 'waiting' }), said: `Status: running\n${lines}` },
    { child: done(createEndedChild(row)), said: `Status: completed\n${lines}\n\n## Subagent Result (explore)\n\ndone it` },
    { child: done(createFailedChild('loop', 'again', row)), said: `Status: failed\n${lines}\n\nSubagent failed: again` },
    {
      child: done(createFailedChild('cancelled', 'enough', { ...row, status: 'cancelled' })),
      said: `Status: cancelled\n${lines}\n\nSubagent failed: cancelled (enough)`,
    },
  ])('$said', ({ child, said }) => {
    for (const name of ['task_status', 'task_cancel']) {
      const given = result(name, { id }, [child]);
      expect(text(given)).toBe(said);
      expect(given.isError).toBe(false);
    }
  });

  test.each(['task_status', 'task_cancel'])('%s of an unknown id', (name) => {
    const given = result(name, { id: 'nope' }, [createRefusal('unknown_run', 'nope is none of your delegated runs', 'nope')]);
    expect(given).toEqual({ parts: [{ text: 'Subagent not found: id: nope is none of your delegated runs' }], isError: true });
  });
});

test('own types are in the schema and the description; wrong ones are refused by name', () => {
  const docs = { description: 'Writes\ndocs.', prompt: 'p' };
  const own = loadDialect('openfork', { types: { docs } });
  expect(own.request('task', { subagent_type: 'docs', prompt: 'p', description: 'd' })).toMatchObject({
    briefs: [{ agent: 'openfork/docs' }],
  });
  const description = own.tool('task').description(modelContext);
  expect(description).toContain('- researcher: Web research and documentation\n- docs: Writes docs.\n\nIMPORTANT');
  expect(() => loadDialect('openfork', { types: { general: docs } })).toThrow(/types\.general.*built in/);
  expect(() => loadDialect('openfork', { types: { docs: { tools: [] } } })).toThrow(/types\.docs\.prompt/);
});

test('denials are the source’s', () => {
  const denial = dialect.setup?.denial as NonNullable<NonNullable<typeof dialect.setup>['denial']>;
  expect(denial('bash', { action: 'deny', rule: 'deny bash', owner: 'command line' })).toBe(
    'Permission denied: bash (rule `deny bash` of command line)',
  );
  expect(denial('bash', { action: 'ask', rule: 'ask bash', owner: 'built-in' })).toBe(
    'Permission required: bash (rule `ask bash` of built-in). Subagents cannot request user permission.',
  );
});

test('the four types: turns, tools, and a model of their own where one is configured', () => {
  const agents = (config = {}) =>
    Object.fromEntries((loadDialect('openfork', config).dialect.setup?.agents ?? []).map((agent) => [agent.name, agent]));
  const known = agents();
  expect(Object.entries(known).map(([name, { limits, tools }]) => [name, limits?.maxTurns, tools])).toEqual([
    ['openfork/main', undefined, undefined],
    ['openfork/general', 20, ['read', 'write', 'edit', 'glob', 'grep', 'list', 'bash']],
    ['openfork/explore', 15, ['read', 'glob', 'grep', 'list']],
    ['openfork/planner', 10, ['read', 'glob', 'grep', 'list', 'todo']],
    ['openfork/researcher', 10, ['webfetch', 'websearch', 'read']],
  ]);
  expect(known['openfork/explore']?.prompt).toContain('DO NOT modify any files. Only read and analyze.');
  expect(agents({ models: { explore: 'x/small' } })['openfork/explore']?.model).toBe('x/small');
  expect(() => agents({ models: { coder: 'x/y' } })).toThrow(/dialects\.openfork\.models\.coder/);
  expect(() => agents({ max_concurrent: 0 })).toThrow(/dialects\.openfork\.max_concurrent/);
});
