// The tools of the claude dialect as tables: the requests of calls, and the results in the shapes of Claude Code.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
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

const { dialect, tool, request, result, findProblems } = loadDialect('claude');
const input = { description: 'find the thing', prompt: 'find it' };
const blocking = { ...input, run_in_background: false };
const brief = { task: 'find it', label: 'find the thing', agent: 'claude/general-purpose' };
const launched = (more: object) => ({ kind: 'delegate', briefs: [{ ...brief, background: true, ...more }], waitMs: 0 });
const refused = (message: string) => ({ kind: 'refuse', message });
const waiting = (waitMs: number) => ({ kind: 'wait', ids: [id], mode: 'all', waitMs, newest: true });
const text = ({ parts }: DialectResult) =>
  renderResultParts(
    parts.map((part) => ({ text: part.text })),
    1e6,
  );

describe('requests', () => {
  test.each([
    { name: 'Agent', input, wanted: launched({}) },
    { name: 'Task', input, wanted: launched({}) },
    { name: 'Agent', input: { ...input, run_in_background: true }, wanted: launched({}) },
    { name: 'Agent', input: blocking, wanted: { kind: 'delegate', briefs: [brief], waitMs: null } },
    { name: 'Agent', input: blocking, context: mcpContext, wanted: { kind: 'delegate', briefs: [brief], waitMs: 45_000 } },
    { name: 'Agent', input: { ...input, subagent_type: 'Explore' }, wanted: launched({ agent: 'claude/explore' }) },
    { name: 'Agent', input: { ...input, subagent_type: 'plan' }, wanted: launched({ agent: 'claude/plan' }) },
    { name: 'Agent', input: { ...input, subagent_type: 'review' }, wanted: launched({ agent: 'review' }) },
    { name: 'Agent', input: { ...input, subagent_type: ' ' }, wanted: launched({}) },
    { name: 'Agent', input: { ...input, model: 'openai/x' }, wanted: launched({ model: 'openai/x' }) },
    { name: 'Agent', input: { ...input, model: 'haiku' }, wanted: launched({ tags: ['claude.model=haiku'] }) },
    { name: 'Agent', input: { ...input, name: 'finder' }, wanted: launched({ label: 'finder' }) },
    { name: 'Agent', input: { ...input, isolation: 'worktree' }, wanted: launched({ isolation: 'worktree' }) },
    { name: 'Agent', input: { ...input, prompt: ' ' }, wanted: refused('prompt: must not be empty') },
    { name: 'Agent', input: { ...input, description: ' ' }, wanted: refused('description: must not be empty') },
    {
      name: 'Agent',
      input: { ...input, subagent_type: 'fork' },
      wanted: refused('subagent_type: an agent cannot start with your conversation; write what it must know in prompt'),
    },
    { name: 'Agent', input: { ...input, model: 'gpt' }, wanted: refused('model: use sonnet, opus, haiku, fable or provider/model') },
    { name: 'TaskOutput', input: { task_id: id }, wanted: waiting(30_000) },
    { name: 'TaskOutput', input: { task_id: id, block: true, timeout: 600_000 }, wanted: waiting(600_000) },
    { name: 'TaskOutput', input: { task_id: id, block: true, timeout: 600_000 }, context: mcpContext, wanted: waiting(45_000) },
    { name: 'TaskOutput', input: { task_id: id, block: false, timeout: 5000 }, wanted: waiting(0) },
    {
      name: 'TaskStop',
      input: { task_id: id },
      wanted: { kind: 'cancel', ids: [id], reason: 'stopped by the agent that launched it', newest: true },
    },
    { name: 'TaskStop', input: { shell_id: id }, wanted: expect.objectContaining({ kind: 'cancel', ids: [id] }) },
    { name: 'TaskStop', input: {}, wanted: refused('task_id: is missing') },
    {
      name: 'SendMessage',
      input: { to: 'finder', summary: 'ask for more', message: 'and more' },
      wanted: { kind: 'message', id: 'finder', text: 'and more', newest: true },
    },
    { name: 'SendMessage', input: { to: id, message: '' }, wanted: refused('message: must not be empty') },
  ])('$name $input', ({ name, input, context = modelContext, wanted }) => {
    expect(request(name, input, context)).toEqual(wanted);
  });

  test.each([
    ['Agent', { prompt: 'x' }, /^description: /],
    ['Agent', { description: 'x' }, /^prompt: /],
    ['Agent', { ...input, effort: 'minimal' }, /^effort: /],
    ['Agent', { ...input, effort: 9 }, /^effort: /],
    ['Agent', { ...input, mode: 'bypassPermissions' }, /mode/],
    ['Agent', { ...input, isolation: 'remote' }, /^isolation: /],
    ['Agent', { ...input, name: 'two words' }, /^name: /],
    ['Agent', { ...input, run_in_background: 'yes' }, /^run_in_background: /],
    ['TaskOutput', { block: true }, /^task_id: /],
    ['TaskOutput', { task_id: id, timeout: 600_001 }, /^timeout: /],
    ['TaskOutput', { task_id: id, timeout: -1 }, /^timeout: /],
    ['TaskStop', { id }, /id/],
    ['SendMessage', { message: 'x' }, /^to: /],
    ['SendMessage', { to: id, message: { type: 'shutdown_request' } }, /^message: /],
  ])('%s refuses %j by name', (name, given, said) => {
    expect(findProblems(name, given)).toMatch(said);
  });

  test.each(['low', 'medium', 'high', 'xhigh', 'max'])('the effort %s is that of the brief', (effort) => {
    for (const name of ['Agent', 'Task']) expect(request(name, { ...input, effort }, modelContext)).toEqual(launched({ effort }));
  });

  test('short names of models are those of the settings', () => {
    const own = loadDialect('claude', { models: { haiku: 'openai/small' } });
    expect(own.request('Agent', { ...input, model: 'haiku' })).toEqual(launched({ model: 'openai/small' }));
    expect(() => loadDialect('claude', { models: { gpt: 'openai/x' } })).toThrow(/dialects\.claude\.models\.gpt/);
  });
});

describe('results of Agent', () => {
  const trailer = `agentId: ${id} (to continue this agent, use SendMessage with to: '${id}')\n<usage>subagent_tokens: 30\nduration_ms: 5</usage>`;
  const tokens = { input: 20, output: 10, cached: 4, reasoning: 0 };

  test('completed: the report, the id, the usage, and the same as an object', () => {
    const given = result('Agent', blocking, [createEndedChild({ agent: 'claude/explore', tokens })]);
    expect(text(given)).toBe(`done it\n${trailer}`);
    expect(given.parts[0]).toEqual({ text: 'done it', run: id });
    expect(given).toMatchObject({ isError: false, besideText: true });
    expect(given.structured).toEqual({
      status: 'completed',
      agentId: id,
      agentType: 'Explore',
      prompt: 'find it',
      content: [{ type: 'text', text: 'done it' }],
      resolvedModel: 'script/x',
      totalDurationMs: 5,
      totalTokens: 30,
      usage: { input_tokens: 20, output_tokens: 10, cache_read_input_tokens: 4 },
    });
  });

  test.each([
    {
      name: 'exhausted',
      child: createFailedChild('max_turns', 'the limit of 15 turns was reached', { status: 'exhausted', summary: 'half', tokens }),
      said: `The agent failed: the limit of 15 turns was reached\nhalf\n${trailer}`,
    },
    {
      name: 'timed out',
      child: createFailedChild('deadline', 'the deadline passed', { status: 'timed_out', tokens }),
      said: `The agent failed: the deadline passed\n${trailer}`,
    },
    {
      name: 'cancelled',
      child: createFailedChild('cancelled', 'enough', { status: 'cancelled', tokens }),
      said: `The agent was stopped: enough\n${trailer}`,
    },
  ])('$name: an error with the reason and the partial report', ({ child, said }) => {
    const given = result('Agent', blocking, [child]);
    expect([given.isError, given.structured, text(given)]).toEqual([true, undefined, said]);
  });

  test('a report that was cut, and changes in a copy of the files', () => {
    const patch = { kind: 'diff' as const, title: 'patch', value: 'a.txt', bytes: 5 };
    const given = result('Agent', blocking, [createEndedChild({ truncated: { originalBytes: 9, keptBytes: 7 }, artifacts: [patch] })]);
    expect(text(given)).toContain(
      `done it\n[truncated: kept 7 of 9 bytes]\nIts changes are in its own copy of the files. Take them over with delegate_apply {"ids":["${id}"]}`,
    );
  });

  test('launched in the background: for a parent model, and for a client that is not woken', () => {
    const row = createLiveChild({ label: 'find the thing' });
    const given = result('Agent', input, [row]);
    expect(text(given)).toMatch(/^The agent was launched and works in the background\. You get its report when it ends\./);
    expect(text(given)).toContain(`\nagentId: ${id} (`);
    expect(given.structured).toEqual({
      status: 'async_launched',
      isAsync: true,
      agentId: id,
      description: 'find the thing',
      prompt: 'find it',
    });
    expect(text(result('Agent', input, [row], mcpContext))).toContain('Read its report with TaskOutput.');
    expect(text(result('Agent', blocking, [row], mcpContext))).toMatch(/^The agent is still working\. Read its report with TaskOutput\./);
  });

  test('a short name of a model that is not configured is said', () => {
    const note = 'Note: dialects.claude.models.opus is not set, so the agent has the default model.';
    expect(text(result('Agent', { ...input, model: 'opus' }, [createLiveChild()]))).toContain(note);
    expect(text(result('Agent', { ...blocking, model: 'opus' }, [createEndedChild()]))).toContain(note);
    expect(text(result('Agent', blocking, [createEndedChild()]))).not.toContain('Note:');
  });

  test.each([
    { reply: createRefusal('depth', 'x'), said: 'Agents at this depth cannot start agents. Do the work yourself.' },
    {
      reply: createRefusal('parent_full', 'x'),
      said: '20 agents are running, and more are not allowed at the same time (max_concurrent_subagents). Do not retry; wait until one ends.',
    },
    { reply: createRefusal('unknown_model', 'no model x'), said: 'model: no model x' },
    { reply: createRefusal('max_runs', 'enough'), said: 'enough' },
  ])('refused: $said', ({ reply, said }) => {
    expect(result('Agent', input, [reply])).toEqual({ parts: [{ text: said }], isError: true });
  });

  test('an unknown type: the known ones are named', () => {
    const context = { ...modelContext, agents: [...modelContext.agents, { name: 'review', description: 'Reviews.' }] };
    const given = result('Agent', { ...input, subagent_type: 'wizard' }, [createRefusal('unknown_agent', 'x')], context);
    expect(text(given)).toBe('subagent_type: there is no agent type "wizard"; available: general-purpose, Explore, Plan, review');
  });
});

describe('results of TaskOutput', () => {
  const head = (retrieval: string, status: string) =>
    `<retrieval_status>${retrieval}</retrieval_status>\n\n<task_id>${id}</task_id>\n\n<task_type>local_agent</task_type>\n\n<status>${status}</status>`;
  const read = { task_id: id };
  test.each([
    [read, createEndedChild(), `${head('success', 'completed')}\n\n<output>\ndone it\n</output>`],
    [
      read,
      createFailedChild('loop', 'again', { summary: 'half' }),
      `${head('success', 'failed')}\n\n<output>\nThe agent failed: again\nhalf\n</output>`,
    ],
    [
      read,
      createFailedChild('cancelled', 'enough', { status: 'cancelled' }),
      `${head('success', 'killed')}\n\n<output>\nThe agent was stopped: enough\n</output>`,
    ],
    [read, createLiveChild(), head('timeout', 'running')],
    [{ ...read, block: false }, createLiveChild({ status: 'queued' }), head('not_ready', 'pending')],
  ])('%# %j', (given, child, said) => {
    const read = result('TaskOutput', given, [child]);
    expect([read.isError, text(read)]).toEqual([false, said]);
    expect(read.parts.filter(({ run }) => run !== undefined).map(({ run }) => run)).toEqual(child.view.outcome?.summary ? [id] : []);
  });
});

describe('results of TaskStop', () => {
  const stop = { task_id: id };
  const killed = createFailedChild('cancelled', 'enough', { status: 'cancelled' });
  killed.view.row.label = 'find the thing';

  test('a running agent was stopped', () => {
    const given = result('TaskStop', stop, { kind: 'children', children: [killed], before: [createLiveChild().view] });
    expect(given).toMatchObject({
      isError: false,
      structured: { message: `Stopped agent ${id} (find the thing)`, task_id: id, task_type: 'local_agent', command: 'find the thing' },
    });
  });

  test('an agent that had ended, or ended by itself meanwhile: an error with its report', () => {
    const done = createEndedChild();
    for (const before of [done.view, createLiveChild().view]) {
      const given = result('TaskStop', stop, { kind: 'children', children: [done], before: [before] });
      expect([given.isError, text(given)]).toEqual([true, `Agent ${id} is not running (status: completed)\ndone it`]);
    }
  });
});

test('results of SendMessage', () => {
  const send = { to: id, message: 'more' };
  const children = [createLiveChild()];
  expect(result('SendMessage', send, children).structured).toEqual({
    success: true,
    message: 'The agent reads the message after its current step.',
  });
  const followUp = { kind: 'children' as const, children, isFollowUp: true };
  expect(result('SendMessage', send, followUp).structured).toEqual({
    success: true,
    message: 'The agent had ended. It starts again with the message. You get its report when it ends.',
  });
  expect(JSON.stringify(result('SendMessage', send, followUp, mcpContext).structured)).toContain('Read its report with TaskOutput.');
});

test.each([
  ['TaskOutput', { task_id: 'nope' }],
  ['TaskStop', { task_id: 'nope' }],
  ['SendMessage', { to: 'nope', message: 'x' }],
])('%s of an unknown id', (name, given) => {
  const missing = result(name, given, [createRefusal('unknown_run', 'nope is none of your delegated runs', 'nope')]);
  expect(missing.isError).toBe(true);
  expect(text(missing)).toContain(name === 'SendMessage' ? 'No agent has the id or name \\"nope\\"' : 'No agent has the id or name "nope"');
});

test('the tools and parameters of Claude Code 2.1.325, less those that Retinue refuses', () => {
  const parameters = dialect.tools.map(({ name, input }) => [name, Object.keys(z.toJSONSchema(input, { io: 'input' }).properties ?? {})]);
  const launch = ['description', 'prompt', 'subagent_type', 'model', 'effort', 'run_in_background', 'name', 'isolation'];
  expect(parameters).toEqual([
    ['Agent', launch],
    ['Task', launch],
    ['TaskOutput', ['task_id', 'block', 'timeout']],
    ['TaskStop', ['task_id', 'shell_id']],
    ['SendMessage', ['to', 'message', 'summary']],
    ['delegate_apply', ['ids', 'check']],
  ]);
  expect(dialect.tools.filter(({ polls }) => polls).map(({ name }) => name)).toEqual(['TaskOutput']);
});

test('types are in the description of Agent, those of the catalog too; native agents of the same purpose are left out', () => {
  const agents = ['general', 'explore', 'plan', 'review'].map((name) => ({ name, description: `${name}\nit` }));
  const description = tool('Agent').description({ ...modelContext, agents });
  const listed = [...description.matchAll(/^- ([\w-]+): /gm)].map(([, name]) => name);
  expect(listed).toEqual(['general-purpose', 'Explore', 'Plan', 'review']);
  expect(description).toContain('- review: review it');
  expect(tool('Task').description(modelContext)).toContain('former name of the Agent tool');
});

test('settings: defaults of the source, and wrong ones are refused by name', () => {
  expect(dialect.setup).toMatchObject({ limits: { maxDepth: 3, maxConcurrent: 20 }, whenFull: 'refuse', endsWithClient: true });
  const own = loadDialect('claude', { max_concurrent_subagents: 2, max_depth: 1 });
  expect(own.dialect.setup?.limits).toEqual({ maxDepth: 1, maxConcurrent: 2 });
  expect(() => loadDialect('claude', { max_depth: 0 })).toThrow(/dialects\.claude\.max_depth/);
  expect(() => loadDialect('claude', { depth: 1 })).toThrow(/dialects\.claude\.depth/);
});

test('the agents: all tools for main and general-purpose; Explore and Plan read, and do not delegate', () => {
  const looking = ['read', 'glob', 'grep', 'list', 'webfetch', 'websearch'];
  expect(dialect.setup?.agents?.map(({ name, tools, disallowedTools }) => [name, tools, disallowedTools?.includes('Agent')])).toEqual([
    ['claude/main', undefined, undefined],
    ['claude/general-purpose', undefined, undefined],
    ['claude/explore', looking, true],
    ['claude/plan', [...looking, 'todo'], true],
  ]);
});
