// XZatoma's behaviour with a parent model, named after the tests of the source: real kernel, scripted models.
import { describe, expect, it } from 'vitest';
import { xzatoma } from '../../src/dialects/xzatoma.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import {
  createCall,
  createCalls,
  createChildId,
  openWorld,
  parseResult,
  playScript,
  rootId,
  selectFacts,
  selectResults,
} from './kernel-support.ts';

interface Result {
  success: boolean;
  output: string;
  error: string | null;
  metadata: Record<string, string>;
}

const root = (...steps: object[]) => ({ when: { agent: 'xzatoma/main' }, steps });
const child = (label: string, ...steps: object[]) => ({ when: { label }, steps });
const ask = (label: string, more: object = {}) => createCall('subagent', { label, task_prompt: `do ${label}`, ...more });

it('14: successful execution: the task, then the summary as a second user message', async () => {
  const { results, world } = await playScript(xzatoma(), [
    root(createCalls(ask('a', { summary_prompt: 'In one word?' })), { expect: { prompt: 'Seven.' }, text: 'ok' }),
    child('a', { text: 'there are seven files, namely' }, { expect: { prompt: 'In one word?' }, text: 'Seven.' }),
  ]);
  expect(parseResult<Result>(results[0])).toEqual({
    success: true,
    output: 'Seven.',
    error: null,
    metadata: {
      subagent_label: 'a',
      recursion_depth: '1',
      completion_status: 'complete',
      turns_used: '1',
      max_turns_reached: 'false',
      tokens_consumed: expect.stringMatching(/^\d+$/),
    },
  });
  expect(selectFacts(world, 'model.nudged', createChildId(1))[0]?.data).toMatchObject({ reason: 'summary', text: 'In one word?' });
});

it('4: nesting to two levels; every level has the tool, and past the limit a call returns an error that names the depth', async () => {
  const { world, outcome } = await playScript(xzatoma(), [
    root(createCalls(ask('one')), { text: 'ok' }),
    child('one', createCalls(ask('two')), { text: 'x' }, { text: 'one is done' }),
    child('two', createCalls(ask('three')), { text: 'x' }, { text: 'two is done' }),
  ]);
  expect(outcome.status).toBe('completed');
  expect(selectFacts(world, 'run.created').map((fact) => [fact.data.depth, fact.data.grant.tools.includes('subagent')])).toEqual([
    [0, true],
    [1, true],
    [2, true],
  ]);
  const refused = selectResults(world, createChildId(2))[0];
  expect(refused?.status).toBe('error');
  expect(parseResult<Result>(refused)).toMatchObject({
    success: false,
    error: 'Maximum recursion depth exceeded: a run at depth 2 may not delegate: the deepest allowed level is 2',
  });
  expect(parseResult<Result>(selectResults(world, createChildId(1))[0])).toMatchObject({
    output: 'two is done',
    metadata: { recursion_depth: '2' },
  });
});

describe('tool filtering', () => {
  const all = ['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash', 'webfetch', 'websearch', 'todo', 'memory', 'scratchpad'];
  const own = ['subagent', 'parallel_subagent'];
  it.each([
    ['6: default: all the parent has', {}, [...all, ...own]],
    ['7: whitelist', { allowed_tools: ['file_ops', 'grep'] }, ['read', 'list', 'glob', 'grep', ...own]],
    ['7: terminal and fetch', { allowed_tools: ['terminal', 'fetch'] }, ['bash', 'webfetch', ...own]],
    ['7: none', { allowed_tools: [] }, own],
  ])('%s', async (_, more, tools) => {
    const { world } = await playScript(xzatoma(), [
      root(createCalls(ask('a', more)), { text: 'ok' }),
      child('a', { text: 'x' }, { text: 'y' }),
    ]);
    expect(selectFacts(world, 'run.created', createChildId(1))[0]?.data.grant.tools.toSorted()).toEqual(tools.toSorted());
  });

  it('a nested subagent may not do what its parent may not do', async () => {
    const { world } = await playScript(xzatoma(), [
      root(createCalls(ask('one', { allowed_tools: ['grep'] })), { text: 'ok' }),
      child('one', createCalls(ask('two')), { text: 'x' }, { text: 'y' }),
      child('two', createCalls(createCall('read', { path: 'x' })), { text: 'x' }, { text: 'y' }),
    ]);
    expect(selectFacts(world, 'run.created', createChildId(2))[0]?.data.grant.tools).toEqual(['grep', ...own]);
    expect(selectResults(world, createChildId(2))[0]?.status).toBe('denied');
  });

  it('9: tools that the parent does not have are refused by name, and nothing is started', async () => {
    const runs = [
      root(createCalls(ask('a', { allowed_tools: ['read', 'terminal'] }), ask('b', { allowed_tools: ['read'] })), { text: 'ok' }),
      child('b', createCalls(ask('c', { allowed_tools: ['grep'] })), { text: 'x' }, { text: 'y' }),
    ];
    const { world, results } = await playScript(xzatoma(), runs, {}, { tools: { allow: ['read', 'grep', ...own] } });
    expect(parseResult<Result>(results[0])).toMatchObject({
      success: false,
      error: 'allowed_tools: `bash` is not a tool that you can pass on',
    });
    expect(parseResult<Result>(results[1]).success).toBe(true);
    const [nested] = selectResults(world, selectFacts(world, 'run.created')[1]?.runId);
    expect(parseResult<Result>(nested).error).toBe('allowed_tools: `grep` is not a tool that you can pass on');
    expect(selectFacts(world, 'run.created')).toHaveLength(2);
  });

  it('8, 9: subagent in the list, and unknown names, are refused by name', async () => {
    const { results } = await playScript(xzatoma(), [
      root(createCalls(ask('a', { allowed_tools: ['subagent'] }), ask('b', { allowed_tools: ['grpe'] })), { text: 'ok' }),
    ]);
    expect(results.map((each) => each.status)).toEqual(['error', 'error']);
    expect(parseResult<Result>(results[0]).error).toContain('allowed_tools: `subagent`');
    expect(parseResult<Result>(results[1]).error).toMatch(/^allowed_tools: .*grpe.*did you mean `grep`/);
  });
});

it('16: max turns exceeded: the wrap-up is the partial result, marked incomplete', async () => {
  const { results } = await playScript(xzatoma(), [
    root(createCalls(ask('a', { max_turns: 1 })), { text: 'ok' }),
    child('a', createCalls(createCall('list', { path: '.' })), { text: 'so far' }),
  ]);
  expect(parseResult<Result>(results[0])).toMatchObject({
    success: true,
    output: 'so far',
    error: null,
    metadata: { completion_status: 'incomplete', turns_used: '1', max_turns_reached: 'true' },
  });
});

it('17: completes before max_turns: complete status', async () => {
  const { results } = await playScript(xzatoma(), [root(createCalls(ask('a')), { text: 'ok' }), child('a', { text: 'x' }, { text: 'y' })]);
  expect(parseResult<Result>(results[0]).metadata).toMatchObject({ completion_status: 'complete', max_turns_reached: 'false' });
});

it('18, 19: a tool that fails is a result that the subagent reads, and it continues', async () => {
  const { results, world } = await playScript(xzatoma(), [
    root(createCalls(ask('a')), { text: 'ok' }),
    child(
      'a',
      createCalls(createCall('read', { path: 'no.txt' })),
      { expect: { prompt: 'no.txt' }, text: 'another way' },
      { text: 'found' },
    ),
  ]);
  expect(selectResults(world, createChildId(1))[0]?.status).toBe('error');
  expect(parseResult<Result>(results[0])).toMatchObject({ success: true, output: 'found' });
});

it('output of more than 4,096 bytes is cut, with a notice', async () => {
  const { results } = await playScript(xzatoma(), [
    root(createCalls(ask('a')), { text: 'ok' }),
    child('a', { text: 'x' }, { text: 'é'.repeat(5000) }),
  ]);
  const { output } = parseResult<Result>(results[0]);
  expect(output).toBe(`${'é'.repeat(2048)}\n[truncated: kept 4096 of 10000 bytes]`);
});

it('conversation isolation: the parent sees only the summary, and the subagent nothing of the parent', async () => {
  const { results, world } = await playScript(xzatoma(), [
    root({ text: 'my plan', ...createCalls(ask('a')) }, { text: 'ok' }),
    child('a', { text: 'my long way', ...createCalls(createCall('list', { path: '.' })) }, { text: 'x' }, { text: 'the summary' }),
  ]);
  expect(results[0]?.output).not.toContain('my long way');
  expect(selectFacts(world, 'run.started', createChildId(1))[0]?.data.first).toBe('do a');
});

it('shared provider: all levels use the same model', async () => {
  const { world } = await playScript(xzatoma(), [
    root(createCalls(ask('one')), { text: 'ok' }),
    child('one', createCalls(ask('two')), { text: 'x' }, { text: 'y' }),
    child('two', { text: 'x' }, { text: 'y' }),
  ]);
  expect(new Set(selectFacts(world, 'model.asked').map((fact) => fact.data.model))).toEqual(new Set(['script/main']));
});

it('conversation history is pruned by configuration', async () => {
  const config = { conversation: { max_tokens: 1000, min_retain_turns: 0, prune_threshold: 0.5 } };
  const files = { 'a.txt': 'a line of text\n'.repeat(200), 'b.txt': 'b line of text\n'.repeat(200) };
  const runs = [
    root(createCalls(ask('a')), { text: 'ok' }),
    child(
      'a',
      createCalls(createCall('read', { path: 'a.txt' })),
      createCalls(createCall('read', { path: 'b.txt' })),
      { text: 'x' },
      { text: 'y' },
    ),
  ];
  const pruned = await playScript(xzatoma(config), runs, { files });
  expect(selectFacts(pruned.world, 'context.pruned', createChildId(1)).length).toBeGreaterThan(0);
  const whole = await playScript(xzatoma(), runs, { files });
  expect(selectFacts(whole.world, 'context.pruned')).toHaveLength(0);
});

describe('parallel_subagent', () => {
  const tasks = (...labels: string[]) => labels.map((label) => ({ label, task_prompt: `do ${label}` }));
  const both = (label: string, ms: number) => child(label, { delayMs: ms, text: 'x' }, { text: `${label} done` });

  it('at most max_concurrent at a time, results in task order', async () => {
    const clock = createHandClock();
    const world = await openWorld(
      xzatoma(),
      [
        root(createCalls(createCall('parallel_subagent', { tasks: tasks('a', 'b', 'c'), max_concurrent: 2 })), { text: 'ok' }),
        both('a', 300),
        both('b', 100),
        both('c', 100),
      ],
      { clock },
    );
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(99);
    expect(selectFacts(world, 'run.started')).toHaveLength(3);
    await clock.advance(300);
    expect((await run.outcome).durationMs).toBe(300);
    const { results } = parseResult<{ results: Result[] }>(selectResults(world)[0]);
    expect(results.map(({ output }) => output)).toEqual(['a done', 'b done', 'c done']);
    expect(selectFacts(world, 'child.ended', rootId).map((fact) => fact.data.outcome.label)).toEqual(['b', 'c', 'a']);
    await world[Symbol.asyncDispose]();
  });

  it('large outputs of many subagents are whole JSON in the parent’s conversation', async () => {
    const labels = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { results } = await playScript(xzatoma(), [
      root(createCalls(createCall('parallel_subagent', { tasks: tasks(...labels) })), { text: 'ok' }),
      ...labels.map((label) => child(label, { text: 'x' }, { text: '"'.repeat(9000) })),
    ]);
    expect(parseResult<{ results: Result[] }>(results[0]).results).toHaveLength(6);
  });
});

describe('quotas for the whole tree', () => {
  it('runs', async () => {
    const { results } = await playScript(
      xzatoma(),
      [root(createCalls(ask('a')), createCalls(ask('b')), { text: 'ok' }), child('a', { text: 'x' }, { text: 'y' })],
      {
        limits: { maxRuns: 2 },
      },
    );
    expect(parseResult<Result>(results[1])).toMatchObject({ success: false, error: 'this tree already has 2 runs, which is its limit' });
  });

  it('tokens', async () => {
    const usage = { usage: { input: 900, output: 100 } };
    const { outcome, world } = await playScript(
      xzatoma(),
      [
        root({ ...createCalls(ask('a')), ...usage }, { text: 'wrapped up', ...usage }),
        child('a', { ...createCalls(createCall('list', { path: '.' })), ...usage }, { text: 'x', ...usage }, { text: 'y', ...usage }),
      ],
      { limits: { maxTokens: 2500 } },
    );
    expect(selectFacts(world, 'child.ended')[0]?.data.outcome).toMatchObject({ status: 'exhausted', terminated: 'max_tokens' });
    expect(outcome.tokens.input + outcome.tokens.output).toBeLessThan(4500);
  });

  it('time', async () => {
    const clock = createHandClock();
    const world = await openWorld(xzatoma(), [root(createCalls(ask('a')), { text: 'ok' }), child('a', { hang: 'start' })], {
      clock,
      limits: { timeoutMs: 5000 },
    });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(9000);
    expect(await run.outcome).toMatchObject({ status: 'timed_out' });
    expect(selectFacts(world, 'child.ended')[0]?.data.outcome.status).not.toBe('completed');
    await world[Symbol.asyncDispose]();
  });
});
