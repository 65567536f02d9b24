// OpenFork's tests and requirements with a parent model: real kernel, scripted models.
import { describe, expect, it } from 'vitest';
import { createApi } from '../../src/api/create.ts';
import { openfork } from '../../src/dialects/openfork.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createCall, createCalls, createChildId, openWorld, playScript, rootId, selectFacts, selectResults } from './kernel-support.ts';

const root = (...steps: object[]) => ({ when: { agent: 'openfork/main' }, steps });
const child = (label: string, ...steps: object[]) => ({ when: { label }, steps });
const task = (description: string, more: object = {}) =>
  createCall('task', { subagent_type: 'explore', prompt: `please ${description}`, description, ...more });
const background = { run_in_background: true };

it('CreateSubSession_SetsCorrectParentRelationship', async () => {
  const world = await openWorld(openfork(), [root(createCalls(task('look')), { text: 'ok' }), child('look', { text: 'seen' })]);
  await (await world.runtime.start({ task: 'work' })).outcome;
  expect(selectFacts(world, 'run.created', createChildId(1))[0]?.data).toMatchObject({
    parentId: rootId,
    agent: 'openfork/explore',
    dialect: 'openfork',
    parentCall: { turn: 1, index: 0 },
    brief: { task: 'please look', label: 'look' },
  });
  // GetSubSessionsForParentAsync: the children of a parent can be listed.
  const rows = await world.store.runs({ parentId: rootId, order: 'oldest' });
  expect(rows.map(({ runId, agent, status }) => ({ runId, agent, status }))).toEqual([
    { runId: createChildId(1), agent: 'openfork/explore', status: 'completed' },
  ]);
  await world[Symbol.asyncDispose]();
});

describe('ExecuteSubSession_InheritsParentPermissions', () => {
  const runs = (tool: object) => [
    root(createCalls(task('look', { subagent_type: 'general' })), { text: 'ok' }),
    child('look', createCalls(tool as ReturnType<typeof createCall>), { text: 'seen' }),
  ];

  it('a subagent may not do what its parent may not do', async () => {
    const { world } = await playScript(openfork(), runs(createCall('write', { path: 'x', content: 'x' })), {
      rules: ['deny write:secret*', 'deny write:x'],
    });
    expect(selectResults(world, createChildId(1))[0]).toEqual({
      status: 'denied',
      output: 'Permission denied: write (rule `deny write:x` of built-in)',
    });
  });

  it('rules of the parent’s brief apply too', async () => {
    const { world } = await playScript(openfork(), runs(createCall('read', { path: 'x' })), {}, { rules: ['deny read:x'] });
    expect(selectResults(world, createChildId(1))[0]).toEqual({
      status: 'denied',
      output: 'Permission denied: read (rule `deny read:x` of the brief)',
    });
  });

  it('ask is deny: a subagent cannot ask the user', async () => {
    const { world } = await playScript(openfork(), runs(createCall('bash', { command: 'ls' })));
    expect(selectResults(world, createChildId(1))[0]).toEqual({
      status: 'denied',
      output: 'Permission required: bash (rule `ask bash` of built-in). Subagents cannot request user permission.',
    });
  });
});

it('SubAgent_CannotSpawnSubagents', async () => {
  const { world } = await playScript(openfork(), [
    root(createCalls(task('look')), { text: 'ok' }),
    child('look', createCalls(task('more')), { text: 'seen' }),
  ]);
  const offered = selectFacts(world, 'run.created').map((fact) => fact.data.grant.tools.filter((name) => name.startsWith('task')));
  expect(offered).toEqual([['task', 'task_status', 'task_cancel'], []]);
  expect(selectResults(world, createChildId(1))[0]).toEqual({
    status: 'error',
    output: 'This agent cannot spawn subagents. Only primary agents can use the task tool.',
  });
  expect(selectFacts(world, 'child.created')).toHaveLength(1);
});

it('the owner’s own types have their prompt, tools, iterations and default permissions', async () => {
  const docs = {
    description: 'Writes docs.',
    prompt: 'You write docs.',
    tools: ['read', 'write'],
    max_iterations: 3,
    permissions: ['deny write:src/*'],
  };
  const writes = ['docs.md', 'src/a.ts'].map((path) => createCall('write', { path, content: 'x' }));
  const world = await openWorld(openfork({ types: { docs } }), [
    root(createCalls(task('look', { subagent_type: 'docs' })), { text: 'ok' }),
    child('look', createCalls(...writes), { text: 'written' }),
  ]);
  await (await world.runtime.start({ task: 'work' })).outcome;
  const created = selectFacts(world, 'run.created', createChildId(1))[0]?.data;
  expect([created?.agent, created?.grant.tools, created?.grant.limits.maxTurns?.value]).toEqual(['openfork/docs', ['read', 'write'], 3]);
  expect(await world.store.blob(selectFacts(world, 'run.started', createChildId(1))[0]?.data.system ?? '')).toContain('You write docs.');
  expect(selectResults(world, createChildId(1)).map(({ output }) => output)).toEqual([
    expect.stringMatching(/^created|written|wrote/),
    'Permission denied: write (rule `deny write:src/*` of agent openfork/docs)',
  ]);
  expect(selectResults(world)[0]?.output).toContain('## Subagent Result (docs)');
  await world[Symbol.asyncDispose]();
});

it('TaskTool_ExecutesSubagentAndReturnsResult: the text of all turns', async () => {
  const { results, outcome } = await playScript(openfork(), [
    root(createCalls(task('look')), { expect: { prompt: 'seven of them' }, text: 'ok' }),
    child('look', { text: 'first I list', ...createCalls(createCall('list', { path: '.' })) }, { text: 'seven of them' }),
  ]);
  expect(outcome.status).toBe('completed');
  expect(results[0]).toEqual({
    status: 'ok',
    output: `## Subagent Result (explore)\n\n<run-output run="${createChildId(1)}">\nfirst I list\nseven of them\n</run-output>`,
  });
});

it('a long result keeps its truncation notice', async () => {
  const { results } = await playScript(openfork(), [
    root(createCalls(task('look')), { text: 'ok' }),
    child('look', { text: 'x'.repeat(20_000) }),
  ]);
  expect(results[0]?.output).toMatch(/\n<\/run-output>\n\[truncated: kept 16384 of 20000 bytes\]$/);
});

describe('turns', () => {
  it.each([
    ['general', {}, 20],
    ['explore', {}, 15],
    ['planner', {}, 10],
    ['researcher', {}, 10],
    ['explore', { max_turns: 3 }, 3],
    ['explore', { max_turns: 99 }, 50],
  ])('%s %j: %i', async (subagent_type, more, turns) => {
    const { world } = await playScript(openfork(), [
      root(createCalls(task('look', { subagent_type, ...more })), { text: 'ok' }),
      child('look', { text: 'seen' }),
    ]);
    expect(selectFacts(world, 'run.created', createChildId(1))[0]?.data.grant.limits.maxTurns.value).toBe(turns);
  });

  it('Max iterations prevent infinite loops: the partial text is kept', async () => {
    const { results } = await playScript(openfork(), [
      root(createCalls(task('look', { max_turns: 1 })), { text: 'ok' }),
      child('look', { text: 'part one', ...createCalls(createCall('list', { path: '.' })) }, { text: 'so far' }),
    ]);
    expect(results[0]?.status).toBe('error');
    expect(results[0]?.output).toContain('Subagent failed: the limit of 1 turns was reached\n\n<run-output');
    expect(results[0]?.output).toContain('part one\nso far');
  });
});

it('a type has the model that is configured for it', async () => {
  const { world } = await playScript(openfork({ models: { explore: 'script/other' } }), [root(createCalls(task('look')), { text: 'ok' })], {
    scripts: { other: { model: { price: { input: 1, output: 1 } }, runs: [{ steps: [{ text: 'seen' }] }] } },
  });
  expect(selectFacts(world, 'run.created', createChildId(1))[0]?.data.model).toBe('script/other');
});

it('in the background: launched immediately, with its status and result, and its parent is notified', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    openfork(),
    [
      root(
        createCalls(task('look', background)),
        createCalls(createCall('task_status', { id: createChildId(1) })),
        { text: 'I go on' },
        { expect: { prompt: 'has ended' }, ...createCalls(createCall('task_status', { id: createChildId(1) })) },
        { text: 'done' },
      ),
      child('look', { delayMs: 5000, text: 'seen' }),
    ],
    { clock },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(5000);
  expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done' });
  const about = `- ID: ${createChildId(1)}\n- Type: explore\n- Description: look`;
  expect(selectResults(world).map(({ output }) => output)).toEqual([
    `Subagent launched in background.\n${about}\n\nUse 'task_status' to check progress or wait for completion event.`,
    `Status: running\n${about}`,
    `Status: completed\n${about}\n\n## Subagent Result (explore)\n\n<run-output run="${createChildId(1)}">\nseen\n</run-output>`,
  ]);
  await world[Symbol.asyncDispose]();
});

it('task_cancel ends a subagent; Cancellation: nothing is left of it', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    openfork(),
    [
      root(createCalls(task('look', background)), createCalls(createCall('task_cancel', { id: createChildId(1) })), { text: 'ok' }),
      child('look', { hang: 'start' }),
    ],
    { clock },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(3000);
  await run.outcome;
  expect(selectResults(world)[1]?.output).toMatch(/^Status: cancelled\n[\s\S]+Subagent failed: cancelled \(/);
  expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  await world[Symbol.asyncDispose]();
});

it('Cleanup: when the parent closes, slots and timers of its subagents are free, and the rows stay', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    openfork(),
    [
      root(createCalls(task('a', background), task('b', background)), { hang: 'start' }),
      child('a', { hang: 'start' }),
      child('b', { hang: 'start' }),
    ],
    { clock },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(100);
  await run.cancel('closed');
  await clock.advance(3000);
  await run.outcome;
  expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  const api = createApi({
    store: world.store,
    clock,
    ids: undefined as never,
    catalog: undefined as never,
    dialect: openfork(),
    runtime: () => Promise.reject(),
  });
  expect((await api.show(rootId)).children.map(({ status, agent }) => [status, agent])).toEqual([
    ['cancelled', 'openfork/explore'],
    ['cancelled', 'openfork/explore'],
  ]);
  await world[Symbol.asyncDispose]();
});

it('more than max_concurrent wait for their turn', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    openfork({ max_concurrent: 1 }),
    [
      root(createCalls(task('a'), task('b')), { text: 'ok' }),
      child('a', { delayMs: 100, text: 'a' }),
      child('b', { delayMs: 100, text: 'b' }),
    ],
    { clock },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(200);
  expect((await run.outcome).durationMs).toBe(200);
  await world[Symbol.asyncDispose]();
});

it('an unknown id', async () => {
  const { results } = await playScript(openfork(), [
    root(createCalls(createCall('task_status', { id: 'nope' }), createCall('task_cancel', { id: 'nope' })), { text: 'ok' }),
  ]);
  for (const each of results)
    expect(each).toEqual({ status: 'error', output: 'Subagent not found: id: nope is none of your delegated runs' });
});
