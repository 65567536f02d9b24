// Ralph's tests with a parent model: real kernel, scripted models. Its processes are tested with their host.
import { expect, it } from 'vitest';
import { ralph } from '../../src/dialects/ralph.ts';
import { useDialectTool } from '../../src/kernel/delegation/dialect-tools.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemIds } from '../../src/system/clock.ts';
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

const root = (...steps: object[]) => ({ when: { task: 'work' }, steps });
const child = (task: string, ...steps: object[]) => ({ when: { task }, steps });
const spawn = (task: string, more: object = {}) => createCall('subagent', { task, ...more });
const status = (n: number, wait = false) => createCall('subagent_status', { subagent_id: createChildId(n), wait });

it('test_subagent_spawn_basic: answers at once with the id of a run in the background', async () => {
  const { results, world, outcome } = await playScript(ralph(), [
    root(createCalls(spawn('look', { context: 'here' })), createCalls(status(1, true)), { text: 'ok' }),
    child('look', { text: 'seen' }),
  ]);
  expect(outcome.status).toBe('completed');
  expect(parseResult(results[0])).toMatchObject({ subagent_id: createChildId(1), result: null });
  expect(['pending', 'running']).toContain(parseResult(results[0]).status);
  expect(selectFacts(world, 'child.created')[0]?.data).toMatchObject({ background: true, agent: 'general' });
  expect(selectFacts(world, 'run.started', createChildId(1))[0]?.data.first).toBe('Context: here\n\nTask: look');
});

it('test_subagent_spawn_max_limit: the sixth is refused, and one that has ended makes room', async () => {
  const clock = createHandClock();
  const tasks = ['a', 'b', 'c', 'd', 'e'].map((name) => spawn(`do ${name}`));
  const runs = [
    root(
      createCalls(...tasks),
      createCalls(spawn('do f')),
      createCalls(status(1, true)),
      createCalls(spawn('do g')),
      { text: 'ok' },
      { text: 'all' },
    ),
    child('do a', { delayMs: 10, text: 'a' }),
    ...['b', 'c', 'd', 'e', 'g'].map((name) => child(`do ${name}`, { delayMs: 1000, text: name })),
  ];
  const world = await openWorld(ralph(), runs, { clock });
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(5000);
  await run.cancel('enough').catch(() => {});
  const results = selectResults(world);
  expect(results.slice(0, 5).map((each) => parseResult(each).subagent_id)).toEqual([1, 2, 3, 4, 5].map(createChildId));
  expect(results[5]).toMatchObject({ status: 'error' });
  expect(parseResult(results[5])).toEqual({
    subagent_id: null,
    status: 'failed',
    result: null,
    error: 'Too many subagents: 5 are running (max_subagents); wait for one to end',
  });
  expect(parseResult(results[6])).toMatchObject({ status: 'completed', result: 'a' });
  expect(parseResult(results[7]).subagent_id).toMatch(/^[0-9a-f]{16}$/);
  await world[Symbol.asyncDispose]();
});

it('test_subagent_status_running: an active subagent is running, with a live line', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    ralph(),
    [
      root(createCalls(spawn('look')), { delayMs: 100, ...createCalls(status(1)) }, createCalls(status(1, true)), { text: 'ok' }),
      child('look', { delayMs: 1000, text: 'seen' }),
    ],
    { clock },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(2000);
  await run.outcome;
  expect(parseResult(selectResults(world)[1])).toEqual({
    subagent_id: createChildId(1),
    status: 'running',
    progress: 'turn 1: thinking',
    result: null,
    error: null,
  });
  await world[Symbol.asyncDispose]();
});

it('test_subagent_status_completed: the result, again and again', async () => {
  const { results } = await playScript(ralph(), [
    root(createCalls(spawn('look')), createCalls(status(1, true)), createCalls(status(1)), { text: 'ok' }),
    child('look', { text: 'seen' }),
  ]);
  const wanted = { subagent_id: createChildId(1), status: 'completed', progress: null, result: 'seen', error: null };
  expect(results.slice(1).map((each) => parseResult(each))).toEqual([wanted, wanted]);
  expect(results[1]?.output).toMatch(/^<run-output run="0000000000000002">\n\{/);
});

it('test_subagent_status_wait: blocks until the subagent has ended', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    ralph(),
    [root(createCalls(spawn('look')), createCalls(status(1, true)), { text: 'ok' }), child('look', { delayMs: 7000, text: 'seen' })],
    {
      clock,
    },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(6999);
  expect(selectResults(world)).toHaveLength(1);
  await clock.advance(1);
  expect(parseResult(selectResults(world)[1])).toMatchObject({ status: 'completed', result: 'seen' });
  expect((await run.outcome).durationMs).toBe(7000);
  await world[Symbol.asyncDispose]();
});

it('test_subagent_status_timeout: it is stopped after its time limit', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    ralph({ subagent_timeout: 5 }),
    [root(createCalls(spawn('look')), createCalls(status(1, true)), { text: 'ok' }), child('look', { hang: 'start' })],
    {
      clock,
    },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(5000);
  await run.outcome;
  expect(parseResult(selectResults(world)[1])).toEqual({
    subagent_id: createChildId(1),
    status: 'timeout',
    progress: null,
    result: null,
    error: 'Subagent timed out',
  });
  expect(world.runtime.stats()).toMatchObject({ active: 0, timers: 0, runs: 0 });
  await world[Symbol.asyncDispose]();
});

it('test_subagent_no_nesting: a subagent has neither tool, and a call of one is not made', async () => {
  const { world } = await playScript(ralph(), [
    root(createCalls(spawn('look')), createCalls(status(1, true)), { text: 'ok' }),
    child('look', createCalls(spawn('more')), { text: 'seen' }),
  ]);
  const tools = selectFacts(world, 'run.created').map((fact) => fact.data.grant.tools.filter((name) => name.startsWith('subagent')));
  expect(tools).toEqual([['subagent', 'subagent_status'], []]);
  expect(selectResults(world, createChildId(1))[0]?.output).toContain('subagent is not available in this run');
  expect(selectFacts(world, 'child.created')).toHaveLength(1);
});

it('test_subagent_tool_execution: from the call to the result in the parent’s answer; the subagent sees nothing of the parent’s conversation', async () => {
  const { world, outcome } = await playScript(ralph(), [
    root({ text: 'my secret plan', ...createCalls(spawn('look')) }, createCalls(status(1, true)), {
      expect: { prompt: 'seven files' },
      text: 'seven',
    }),
    child('look', createCalls(createCall('list', { path: '.' })), { text: 'seven files' }),
  ]);
  expect(outcome).toMatchObject({ status: 'completed', summary: 'seven' });
  const { first } = selectFacts(world, 'run.started', createChildId(1))[0]?.data ?? {};
  expect(first).toBe('look');
});

it('multiple concurrent subagents work at the same time', async () => {
  const clock = createHandClock();
  const names = ['a', 'b', 'c'];
  const runs = [
    root(createCalls(...names.map((name) => spawn(`do ${name}`))), createCalls(status(1, true), status(2, true), status(3, true)), {
      text: 'ok',
    }),
    ...names.map((name) => child(`do ${name}`, { delayMs: 1000, text: name })),
  ];
  const world = await openWorld(ralph(), runs, { clock });
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(1000);
  expect((await run.outcome).durationMs).toBe(1000);
  expect(
    selectResults(world)
      .slice(3)
      .map((each) => parseResult(each).result),
  ).toEqual(names);
  await world[Symbol.asyncDispose]();
});

it('a subagent that executes shell commands if a rule allows them', async () => {
  const { world } = await playScript(
    ralph(),
    [
      root(createCalls(spawn('look')), createCalls(status(1, true)), { expect: { prompt: 'it said hello' }, text: 'ok' }),
      child('look', createCalls(createCall('bash', { command: 'echo hello' })), { expect: { prompt: 'hello' }, text: 'it said hello' }),
    ],
    { rules: ['allow bash'] },
  );
  expect(selectResults(world, createChildId(1))[0]).toMatchObject({ status: 'ok' });
});

it('an unknown id and the id of another caller’s run are not found', async () => {
  const { results } = await playScript(ralph(), [
    root(createCalls(createCall('subagent_status', { subagent_id: 'nope' }), createCall('subagent_status', { subagent_id: rootId })), {
      text: 'ok',
    }),
  ]);
  for (const [index, asked] of ['nope', rootId].entries()) {
    expect(results[index]?.status).toBe('error');
    expect(parseResult(results[index])).toEqual({
      subagent_id: asked,
      status: 'failed',
      progress: null,
      result: null,
      error: 'Subagent not found',
    });
  }
});

it('a result stays readable for a client after the end and after a restart', async () => {
  const store = createMemoryStore();
  const keep = { ...store, close: async () => {} };
  const dialect = ralph();
  const [start, ask] = dialect.tools;
  const context = { door: 'mcp' as const, agents: [], call: 'x' };
  const first = await openWorld(dialect, [child('look', { text: 'seen' })], { store: keep });
  const client = await first.runtime.openClient({ name: 'the same' });
  const spawned = await useDialectTool({ tool: start as never, input: { task: 'look' }, context }, client.delegation);
  const { subagent_id } = spawned.result.structured as { subagent_id: string };
  await client.delegation.wait([subagent_id], { mode: 'all', ms: null });
  await client.close();
  await first[Symbol.asyncDispose]();
  const second = await openWorld(dialect, [child('look', { text: 'x' })], { store: keep, options: { ids: systemIds } });
  const other = await second.runtime.openClient({ name: 'the same' });
  const { result } = await useDialectTool({ tool: ask as never, input: { subagent_id, wait: true }, context }, other.delegation);
  expect(result.structured).toMatchObject({ subagent_id, status: 'completed', result: 'seen' });
  await second[Symbol.asyncDispose]();
  await store.close();
});
