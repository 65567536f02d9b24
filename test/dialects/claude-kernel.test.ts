// The claude dialect with a parent model: real kernel, scripted models.
import { describe, expect, it } from 'vitest';
import { claude } from '../../src/dialects/claude.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import {
  createCall,
  createCalls,
  createChildId,
  openWorld,
  type PlayOptions,
  playScript,
  rootId,
  selectFacts,
  selectResults,
} from './kernel-support.ts';

const root = (...steps: object[]) => ({ when: { agent: 'claude/main' }, steps });
const child = (task: string, ...steps: object[]) => ({ when: { task }, steps });
const launch = (prompt: string, more: object = {}) => createCall('Agent', { description: `to ${prompt}`, prompt, ...more });
const blocking = { run_in_background: false };
const output = (task_id: string, more: object = {}) => createCall('TaskOutput', { task_id, ...more });
const send = (to: string, message: string) => createCall('SendMessage', { to, message, summary: 'a message' });
const stop = (task_id: string) => createCall('TaskStop', { task_id });
const list = createCalls(createCall('list', { path: '.' }));
const [first, second, third] = [createChildId(1), createChildId(2), createChildId(3)];
const fenced = (text: string, id = first) => `<run-output run="${id}">\n${text}\n</run-output>`;

async function playTimed(runs: object[], ms: number, given: PlayOptions = {}, dialect = claude()) {
  const clock = createHandClock();
  const world = await openWorld(dialect, runs, { clock, ...given });
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(ms);
  const outcome = await run.outcome;
  expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  await world[Symbol.asyncDispose]();
  return { world, outcome, results: selectResults(world) };
}

it('in the foreground: the report, the id and the usage', async () => {
  const { results, world, outcome } = await playScript(claude(), [
    root(createCalls(launch('look', { ...blocking, subagent_type: 'Explore' })), { expect: { prompt: 'seven files' }, text: 'ok' }),
    child('look', list, { text: 'seven files' }),
  ]);
  expect(outcome).toMatchObject({ status: 'completed', summary: 'ok', turns: 2 });
  expect(results[0]?.output).toMatch(
    new RegExp(`^${fenced('seven files')}\nagentId: ${first} \\(.*\\)\n<usage>subagent_tokens: \\d+\nduration_ms: \\d+</usage>$`),
  );
  expect(selectFacts(world, 'run.created', first)[0]?.data).toMatchObject({
    agent: 'claude/explore',
    dialect: 'claude',
    parentId: rootId,
    brief: { task: 'look', label: 'to look' },
  });
});

it('Task is the same tool under its former name', async () => {
  const args = { description: 'd', prompt: 'look', run_in_background: false };
  const { results } = await playScript(claude(), [
    root(createCalls(createCall('Task', args)), { text: 'ok' }),
    child('look', { text: 'seen' }),
  ]);
  expect(results[0]).toMatchObject({ status: 'ok', output: expect.stringContaining(fenced('seen')) });
});

it('in the background, which is the default: two at the same time, and each report reaches the parent once', async () => {
  const { outcome, results, world } = await playTimed(
    [
      root(
        createCalls(launch('look'), launch('read')),
        { text: 'I wait' },
        { expect: { prompt: 'seen' }, text: 'one' },
        { expect: { prompt: 'was read' }, text: 'both' },
      ),
      child('look', { delayMs: 1000, text: 'seen' }),
      child('read', { delayMs: 2000, text: 'was read' }),
    ],
    2000,
  );
  expect(outcome).toMatchObject({ status: 'completed', summary: 'both', turns: 4, durationMs: 2000 });
  expect(results[0]?.output).toContain(`agentId: ${first} (`);
  expect(selectFacts(world, 'child.created').map(({ data }) => data.background)).toEqual([true, true]);
  expect(selectFacts(world, 'child.ended')).toHaveLength(2);
});

describe('TaskOutput', () => {
  it('waits up to its timeout, then returns the report, which is not reported again', async () => {
    const { results, outcome } = await playTimed(
      [
        root(
          createCalls(launch('look')),
          createCalls(output(first, { block: false })),
          createCalls(output(first, { timeout: 1000 })),
          createCalls(output(first)),
          { text: 'ok' },
        ),
        child('look', { delayMs: 5000, text: 'seen' }),
      ],
      5000,
    );
    expect(outcome).toMatchObject({ status: 'completed', summary: 'ok', turns: 5, durationMs: 5000 });
    const statuses = results.slice(1).map((each) => /<retrieval_status>(\w+)<[\s\S]*<status>(\w+)</.exec(each.output)?.slice(1));
    expect(statuses).toEqual([
      ['not_ready', 'running'],
      ['timeout', 'running'],
      ['success', 'completed'],
    ]);
    expect(results[3]?.output).toContain(`<output>\n${fenced('seen')}\n</output>`);
  });

  it('polling is no loop', async () => {
    const polls = Array.from({ length: 9 }, () => createCalls(output(first)));
    const { outcome } = await playTimed(
      [root(createCalls(launch('slow')), ...polls, { text: 'ok' }), child('slow', { delayMs: 265_000, text: 'at last' })],
      300_000,
      { limits: { idleMs: 600_000, firstByteMs: 600_000 } },
    );
    expect(outcome).toMatchObject({ status: 'completed', summary: 'ok' });
  });
});

describe('SendMessage', () => {
  it('a running agent reads it, by its name', async () => {
    const { results, outcome } = await playTimed(
      [
        root(createCalls(launch('look', { name: 'finder' })), createCalls(send('finder', 'also count')), createCalls(output('finder')), {
          text: 'ok',
        }),
        child('look', { delayMs: 1000, text: 'seen' }, { expect: { prompt: 'also count' }, text: 'seven' }),
      ],
      1000,
    );
    expect(outcome.status).toBe('completed');
    expect(results[1]).toEqual({
      status: 'ok',
      output: '{"success":true,"message":"The agent reads the message after its current step."}',
    });
    expect(results[2]?.output).toContain(fenced('seven'));
  });

  it('an agent that has ended starts again with its context; name and first id then mean the new work', async () => {
    const { results, outcome, world } = await playScript(claude(), [
      root(
        createCalls(launch('look', { ...blocking, name: 'finder' })),
        createCalls(send(first, 'and the tests?')),
        createCalls(output(first)),
        createCalls(send('finder', 'and the docs?')),
        createCalls(output('finder')),
        { text: 'ok' },
      ),
      child('look', { text: 'seen' }),
      child('and the tests?', { text: 'tested' }),
      child('and the docs?', { text: 'documented' }),
    ]);
    expect(outcome).toMatchObject({ status: 'completed', summary: 'ok' });
    expect(results[1]?.output).toContain('It starts again with the message.');
    expect(results[2]?.output).toContain(fenced('tested', second));
    expect(results[4]?.output).toContain(fenced('documented', third));
    expect(selectFacts(world, 'child.created').map(({ data }) => data.continues)).toEqual([undefined, first, second]);
  });

  it('a newer agent takes over a name; the older one keeps its id', async () => {
    const { results } = await playScript(claude(), [
      root(
        createCalls(launch('look', { ...blocking, name: 'finder' })),
        createCalls(launch('read', { ...blocking, name: 'finder' })),
        createCalls(send('finder', 'more')),
        createCalls(output('finder'), output(first)),
        { text: 'ok' },
      ),
      child('look', { text: 'seen' }),
      child('read', { text: 'was read' }),
      child('more', { text: 'more of it' }),
    ]);
    expect(results[3]?.output).toContain(fenced('more of it', third));
    expect(results[4]?.output).toContain(fenced('seen'));
  });
});

describe('TaskStop', () => {
  it('ends an agent and what it launched; a second stop says that it is not running', async () => {
    const { results, world, outcome } = await playTimed(
      [
        root(createCalls(launch('look', { name: 'finder' })), { delayMs: 100, ...createCalls(stop('finder')) }, createCalls(stop(first)), {
          text: 'ok',
        }),
        child('look', createCalls(launch('deeper', blocking))),
        child('deeper', { hang: 'start' }),
      ],
      10_000,
    );
    expect(outcome).toMatchObject({ status: 'completed', summary: 'ok', turns: 4 });
    expect(JSON.parse(results[1]?.output ?? '')).toEqual({
      message: `Stopped agent ${first} (finder)`,
      task_id: 'finder',
      task_type: 'local_agent',
      command: 'finder',
    });
    expect(results[2]).toMatchObject({ status: 'error', output: expect.stringMatching(/^Agent \w+ is not running \(status: killed\)/) });
    expect(selectFacts(world, 'run.ended').map(({ runId, data }) => [runId, data.outcome.status])).toEqual([
      [second, 'cancelled'],
      [first, 'cancelled'],
      [rootId, 'completed'],
    ]);
  });

  it('the report of an agent that ended before is in the result, and is not reported again', async () => {
    const { results, outcome } = await playTimed(
      [root(createCalls(launch('look')), { delayMs: 1000, ...createCalls(stop(first)) }, { text: 'ok' }), child('look', { text: 'seen' })],
      5000,
    );
    expect(outcome).toMatchObject({ status: 'completed', summary: 'ok', turns: 3 });
    expect(results[1]).toEqual({ status: 'error', output: `Agent ${first} is not running (status: completed)\n${fenced('seen')}` });
  });
});

describe('types', () => {
  it('Explore and Plan only look and cannot launch agents; general-purpose can, up to max_depth', async () => {
    const { world } = await playScript(claude(), [
      root(
        createCalls(...['Explore', 'Plan', 'general-purpose'].map((type) => launch(`be ${type}`, { ...blocking, subagent_type: type }))),
        {
          text: 'ok',
        },
      ),
      child('be Explore', createCalls(launch('more', blocking)), { text: 'x' }),
      child('be Plan', { text: 'x' }),
      child('be general-purpose', createCalls(launch('two', blocking)), { text: 'x' }),
      child('two', createCalls(launch('three', blocking)), { text: 'x' }),
      child('three', createCalls(launch('four', blocking)), { text: 'x' }),
    ]);
    const created = selectFacts(world, 'run.created').map(({ runId, data }) => [data.brief.task, data.grant.tools, runId] as const);
    const tools = (task: string) => created.find(([each]) => each === task)?.[1] ?? [];
    expect([...tools('be Explore')].sort()).toEqual(['glob', 'grep', 'list', 'read', 'webfetch', 'websearch']);
    expect(tools('be Plan')).not.toContain('Agent');
    expect(tools('two')).toEqual(expect.arrayContaining(['Agent', 'Task', 'TaskOutput', 'TaskStop', 'SendMessage', 'write', 'bash']));
    expect(tools('three')).not.toContain('Agent');
    expect(created.map(([task]) => task)).not.toContain('four');
    expect(created.map(([task]) => task)).not.toContain('more');
    const deepest = created.find(([task]) => task === 'three')?.[2] ?? '';
    expect(selectResults(world, deepest)[0]).toEqual({
      status: 'error',
      output: 'Agents at this depth cannot start agents. Do the work yourself.',
    });
  });

  it('an agent of the catalog is a type; an unknown type is an error that names the known ones', async () => {
    const agents = [{ name: 'tester', description: 'Runs tests.', prompt: 'Test.', tools: ['read'], source: 'test' }];
    const { results, world } = await playScript(
      claude(),
      [
        root(createCalls(launch('test it', { ...blocking, subagent_type: 'tester' }), launch('x', { subagent_type: 'wizard' })), {
          text: 'ok',
        }),
        child('test it', { text: 'tested' }),
      ],
      { agents },
    );
    expect(selectFacts(world, 'run.created', first)[0]?.data.agent).toBe('tester');
    expect(results[1]).toEqual({
      status: 'error',
      output: 'subagent_type: there is no agent type "wizard"; available: general-purpose, Explore, Plan, research, review, tester',
    });
  });
});

it('the short names of models use the configured model, or that of the parent with a note', async () => {
  const runs = [
    root(createCalls(launch('a', { ...blocking, model: 'haiku' }), launch('b', { ...blocking, model: 'opus' })), { text: 'ok' }),
    child('b', { text: 'b' }),
  ];
  const { world, results } = await playScript(claude(), [...runs, child('a', { text: 'a' })]);
  expect(selectFacts(world, 'run.created').map(({ data }) => data.model)).toEqual(['script/main', 'script/main', 'script/main']);
  expect(results[0]?.output).toContain('Note: dialects.claude.models.haiku is not set');
  const configured = await playScript(claude({ models: { haiku: 'script/main' } }), [...runs, child('a', { text: 'a' })]);
  expect(configured.results[0]?.output).not.toContain('Note:');
  expect(configured.results[1]?.output).toContain('Note: dialects.claude.models.opus is not set');
});

it('more agents than allowed at the same time are refused', async () => {
  const { results } = await playTimed(
    [
      root(createCalls(launch('a'), launch('b'), launch('c')), { text: 'I wait' }, { text: 'one' }, { text: 'two' }),
      child('a', { delayMs: 1000, text: 'a' }),
      child('b', { delayMs: 2000, text: 'b' }),
    ],
    2000,
    {},
    claude({ max_concurrent_subagents: 2 }),
  );
  expect(results[2]).toMatchObject({ status: 'error', output: expect.stringContaining('2 agents are running') });
});

it('unknown ids and names are errors in all tools', async () => {
  const { results } = await playScript(claude(), [root(createCalls(output('nope'), stop(rootId), send('nope', 'x')), { text: 'ok' })]);
  expect(results.map(({ status }) => status)).toEqual(['error', 'error', 'error']);
  expect(results[0]?.output).toBe('No agent has the id or name "nope"');
  expect(results[1]?.output).toBe(`No agent has the id or name "${rootId}"`);
  expect(JSON.parse(results[2]?.output ?? '')).toEqual({ success: false, message: 'No agent has the id or name "nope"' });
});

it('an agent may not do what its parent may not do, and its own failures are errors with the partial report', async () => {
  const { world, results } = await playScript(
    claude(),
    [
      root(createCalls(launch('write it', blocking)), { text: 'ok' }),
      child(
        'write it',
        { text: 'I try', ...createCalls(createCall('write', { path: 'x', content: 'x' })) },
        { error: { status: 400, message: 'bad' } },
      ),
    ],
    {},
    { rules: ['deny write'] },
  );
  expect(selectResults(world, first)[0]).toMatchObject({ status: 'denied' });
  expect(results[0]).toMatchObject({
    status: 'error',
    output: expect.stringMatching(/^The agent failed: .*bad[\s\S]*I try[\s\S]*agentId: /),
  });
});

it('cancelling the root ends its agents, and nothing is left', async () => {
  const clock = createHandClock();
  const runs = [root(createCalls(launch('a'), launch('b', blocking))), child('a', { hang: 'start' }), child('b', { hang: 'start' })];
  const world = await openWorld(claude(), runs, { clock });
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(100);
  await run.cancel('enough');
  await clock.advance(5000);
  expect(await run.outcome).toMatchObject({ status: 'cancelled' });
  expect(selectFacts(world, 'run.ended').map(({ data }) => data.outcome.status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
  expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  await world[Symbol.asyncDispose]();
});

it('after a crash a foreground call finds its agent again, and its report is delivered once', async () => {
  const store = createMemoryStore();
  const kept = { ...store, close: async () => {} };
  const excuses = { ended: 'interrupted', told: 'interrupted' };
  const step = createCalls(launch('look', blocking));
  const stopped = await openWorld(claude(), [root(step), child('look', { hang: 'start' })], { store: kept, excuses });
  const run = await stopped.runtime.start({ task: 'work' });
  await expect.poll(() => selectFacts(stopped, 'model.asked', first).length).toBe(1);
  await store.release(stopped.runtime.owner);
  const after = [root(step, { expect: { prompt: 'seen at last' }, text: 'ok' }), child('look', { text: 'seen at last' })];
  await using next = await openWorld(claude(), after, { store: kept, settings: { workspace: stopped.workspace } });
  const resumed = await next.runtime.resume(run.id, 'a test');
  expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed', summary: 'ok', turns: 2 });
  const facts = await store.facts({ runId: rootId });
  expect(facts.filter(({ type }) => type === 'child.created')).toHaveLength(1);
  expect(facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data.told] : []))).toEqual([[first]]);
  await stopped.runtime.close();
  await expect(run.outcome).rejects.toMatchObject({ code: 'fenced' });
});
