// The codex dialect with a parent model: real kernel, scripted models.
import { describe, expect, it } from 'vitest';
import { codex } from '../../src/dialects/codex.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import {
  createCall,
  createCalls,
  createChildId,
  openWorld,
  type PlayOptions,
  parseResult,
  playScript,
  rootId,
  selectFacts,
  selectResults,
} from './kernel-support.ts';

const root = (...steps: object[]) => ({ when: { agent: 'codex/main' }, steps });
const child = (task: string, ...steps: object[]) => ({ when: { task }, steps });
const spawn = (message: string, more: object = {}) => createCall('spawn_agent', { message, ...more });
const wait = (targets: string[], timeout_ms?: number) =>
  createCall('wait_agent', { targets, ...(timeout_ms !== undefined && { timeout_ms }) });
const send = (target: string, message: string, more: object = {}) => createCall('send_input', { target, message, ...more });
const close = (target: string) => createCall('close_agent', { target });
const [first, second, third] = [createChildId(1), createChildId(2), createChildId(3)];

/** Plays a root under a clock that the test moves. */
async function playTimed(runs: object[], ms: number, given: PlayOptions = {}, dialect = codex()) {
  const clock = createHandClock();
  const world = await openWorld(dialect, runs, { clock, ...given });
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(ms);
  const outcome = await run.outcome;
  expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  await world[Symbol.asyncDispose]();
  return { world, outcome, results: selectResults(world) };
}

it('spawn_agent answers at once, wait_agent returns the last message, and it is not reported a second time', async () => {
  const { results, world, outcome } = await playScript(codex(), [
    root(createCalls(spawn('look', { agent_type: 'explorer' })), createCalls(wait([first])), { text: 'ok' }),
    child('look', { text: 'seven files' }),
  ]);
  expect(outcome).toMatchObject({ status: 'completed', summary: 'ok', turns: 3 });
  expect(parseResult(results[0])).toEqual({ agent_id: first, nickname: null });
  expect(results[1]?.output).toBe(
    `<run-output run="${first}">\n{"status":{"${first}":{"completed":"seven files"}},"timed_out":false}\n</run-output>`,
  );
  expect(selectFacts(world, 'run.created', first)[0]?.data).toMatchObject({
    agent: 'codex/explorer',
    dialect: 'codex',
    parentId: rootId,
    brief: { task: 'look', label: 'look', background: true },
  });
  expect(selectFacts(world, 'tool.finished', rootId)[1]?.data.told).toEqual([first]);
});

it('a parent that ends its turn gets the result of every agent once', async () => {
  const { outcome, world } = await playTimed(
    [
      root(
        createCalls(spawn('look'), spawn('read')),
        { text: 'I wait' },
        { expect: { prompt: 'seen' }, text: 'one' },
        { expect: { prompt: 'was read' }, text: 'both' },
      ),
      child('look', { delayMs: 1000, text: 'seen' }),
      child('read', { delayMs: 2000, text: 'was read' }),
    ],
    2000,
  );
  expect(outcome).toMatchObject({ status: 'completed', summary: 'both', turns: 4 });
  expect(selectFacts(world, 'child.ended')).toHaveLength(2);
});

describe('wait_agent', () => {
  const two = [child('a', { delayMs: 1000, text: 'from a' }), child('b', { delayMs: 20_000, text: 'from b' })];
  const spawned = createCalls(spawn('do a'), spawn('do b'));

  it('with several ids it returns at the first that ends, and then has only that one', async () => {
    const { results } = await playTimed(
      [root(spawned, createCalls(wait([first, second])), createCalls(wait([second])), { text: 'ok' }), ...two],
      20_000,
    );
    expect(parseResult(results[2])).toEqual({ status: { [first]: { completed: 'from a' } }, timed_out: false });
    expect(parseResult(results[3])).toEqual({ status: { [second]: { completed: 'from b' } }, timed_out: false });
  });

  it('ends after timeout_ms with an empty status, and after 10 s at the earliest', async () => {
    const clock = createHandClock();
    const runs = [
      root(createCalls(spawn('do b')), createCalls(wait([first], 1)), createCalls(wait([first])), { text: 'ok' }),
      two[1] as object,
    ];
    const world = await openWorld(codex(), runs, { clock });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(9_999);
    expect(selectResults(world)).toHaveLength(1);
    await clock.advance(1);
    expect(parseResult(selectResults(world)[1])).toEqual({ status: {}, timed_out: true });
    await clock.advance(10_000);
    expect((await run.outcome).durationMs).toBe(20_000);
    expect(parseResult(selectResults(world)[2])).toEqual({ status: { [first]: { completed: 'from b' } }, timed_out: false });
    await world[Symbol.asyncDispose]();
  });

  it('polling is no loop: ten equal calls in a row are made, and the agent is waited for', async () => {
    const polls = Array.from({ length: 10 }, () => createCalls(wait([first])));
    const { outcome, results, world } = await playTimed(
      [root(createCalls(spawn('slow')), ...polls, { text: 'ok' }), child('slow', { delayMs: 295_000, text: 'at last' })],
      300_000,
      { limits: { idleMs: 600_000, firstByteMs: 600_000 } },
    );
    expect(outcome).toMatchObject({ status: 'completed', summary: 'ok' });
    expect(results.slice(1, 10).map((each) => parseResult(each).timed_out)).toEqual(Array(9).fill(true));
    expect(parseResult(results[10])).toEqual({ status: { [first]: { completed: 'at last' } }, timed_out: false });
    expect(selectFacts(world, 'tool.asked', rootId)[1]).toMatchObject({ v: 3, data: { polls: true, rejected: null } });
  });

  it('other equal calls are still a loop, with polls between them', async () => {
    const list = createCall('list', { path: '.' });
    const pair = createCalls(list, wait(['nope']));
    const { results } = await playScript(codex(), [root(pair, pair, pair, pair, { text: 'ok' })]);
    expect(results.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'error', 'ok']);
    expect(results[6]?.output).toContain('the same call several times in a row');
  });

  it('unknown ids, and runs that are not its children, are not_found', async () => {
    const { results } = await playScript(codex(), [root(createCalls(wait(['nope', rootId])), { text: 'ok' })]);
    expect(parseResult(results[0])).toEqual({ status: { nope: 'not_found', [rootId]: 'not_found' }, timed_out: false });
  });

  it('failures, limits and deadlines of agents are errored, with the partial result', async () => {
    const { results } = await playTimed(
      [
        root(createCalls(spawn('fail'), spawn('stuck')), createCalls(wait([first])), createCalls(wait([second], 60_000)), { text: 'ok' }),
        child('fail', { error: { status: 400, message: 'bad request' } }),
        child(
          'stuck',
          { text: 'begun', ...createCalls(createCall('list', { path: '.' })) },
          { error: { status: 400, message: 'too long' } },
        ),
      ],
      60_000,
    );
    const statuses = results
      .slice(2)
      .map((each) => Object.values(parseResult<{ status: Record<string, { errored?: string }> }>(each).status)[0]);
    expect(statuses[0]?.errored).toMatch(/^\w+: /);
    expect(statuses[1]?.errored).toMatch(/^\w+: .*\n\nPartial result:\nbegun$/);
  });
});

describe('send_input', () => {
  it('a running agent reads it at its next step', async () => {
    const { results, outcome } = await playTimed(
      [
        root(createCalls(spawn('look')), createCalls(send(first, 'also count')), createCalls(wait([first])), { text: 'ok' }),
        child('look', { delayMs: 1000, text: 'seen' }, { expect: { prompt: 'also count' }, text: 'seven' }),
      ],
      1000,
    );
    expect(outcome.status).toBe('completed');
    expect(parseResult(results[1])).toEqual({ submission_id: first });
    expect(parseResult(results[2])).toMatchObject({ status: { [first]: { completed: 'seven' } } });
  });

  it('a finished agent starts again with its context, and its id then means the new work', async () => {
    const store = createMemoryStore();
    const runs = [
      root(
        createCalls(spawn('look')),
        createCalls(wait([first])),
        createCalls(send(first, 'and the tests?')),
        createCalls(wait([first])),
        createCalls(send(first, 'and the docs?')),
        createCalls(wait([first])),
        { text: 'ok' },
      ),
      child('look', { text: 'seen' }),
      child('and the tests?', { text: 'tested' }),
      child('and the docs?', { text: 'documented' }),
    ];
    const { results, world, outcome } = await playScript(codex(), runs, { store: { ...store, close: async () => {} } });
    expect(outcome).toMatchObject({ status: 'completed', summary: 'ok' });
    expect([parseResult(results[2]), parseResult(results[4])]).toEqual([{ submission_id: second }, { submission_id: third }]);
    expect([1, 3, 5].map((index) => parseResult<{ status: object }>(results[index]).status)).toEqual([
      { [first]: { completed: 'seen' } },
      { [first]: { completed: 'tested' } },
      { [first]: { completed: 'documented' } },
    ]);
    expect(selectFacts(world, 'child.created').map(({ v, data }) => [v, data.continues])).toEqual([
      [1, undefined],
      [2, first],
      [2, second],
    ]);
    expect(selectFacts(world, 'child.ended')).toHaveLength(3);
    const history = await store.blob(selectFacts(world, 'run.started', third)[0]?.data.history ?? '');
    for (const text of ['look', 'seen', 'and the tests?', 'tested']) expect(history).toContain(text);
  });

  it('two inputs at the same time for a finished agent start it once', async () => {
    const { world, results } = await playTimed(
      [
        root(
          createCalls(spawn('look')),
          createCalls(wait([first])),
          createCalls(send(first, 'one'), send(first, 'two')),
          createCalls(wait([first])),
          {
            text: 'ok',
          },
        ),
        child('look', { text: 'seen' }),
        child('one', { expect: { prompt: 'two' }, text: 'both' }),
      ],
      5000,
    );
    expect(selectFacts(world, 'child.created')).toHaveLength(2);
    expect(results.slice(2, 4).map((each) => parseResult(each))).toEqual([{ submission_id: second }, { submission_id: second }]);
    expect(parseResult(results[4])).toMatchObject({ status: { [first]: { completed: 'both' } } });
  });

  it('interrupt: the work ends as cancelled, the input continues it, and the parent reads no second report', async () => {
    const { results, world, outcome } = await playTimed(
      [
        root(
          createCalls(spawn('look')),
          { delayMs: 1000, ...createCalls(send(first, 'stop, count', { interrupt: true })) },
          createCalls(wait([first])),
          {
            text: 'ok',
          },
        ),
        child('look', { text: 'I begin', ...createCalls(createCall('list', { path: '.' })) }, { hang: 'start' }),
        child('stop, count', { text: 'seven' }),
      ],
      20_000,
    );
    expect(outcome).toMatchObject({ status: 'completed', summary: 'ok', turns: 4 });
    expect(parseResult(results[1])).toEqual({ submission_id: second });
    expect(parseResult(results[2])).toEqual({ status: { [first]: { completed: 'seven' } }, timed_out: false });
    expect(selectFacts(world, 'run.ended', first)[0]?.data.outcome).toMatchObject({ status: 'cancelled' });
    expect(selectFacts(world, 'tool.finished', rootId)[1]?.data.told).toEqual([first]);
  });

  it('an unknown agent is an error', async () => {
    const { results } = await playScript(codex(), [root(createCalls(send('nope', 'x')), { text: 'ok' })]);
    expect(results[0]).toEqual({ status: 'error', output: 'Agent not found: target: nope is none of your delegated runs' });
  });
});

describe('close_agent and resume_agent', () => {
  it('close ends an agent and what it delegated; the result is the status before', async () => {
    const { results, world, outcome } = await playTimed(
      [
        root(
          createCalls(spawn('look')),
          { delayMs: 100, ...createCalls(close(first)) },
          createCalls(wait([first])),
          createCalls(close(first)),
          createCalls(createCall('resume_agent', { id: first })),
          { text: 'ok' },
        ),
        child('look', createCalls(spawn('deeper')), createCalls(wait([third, second], 60_000))),
        child('deeper', { hang: 'start' }),
      ],
      10_000,
      {},
      codex({ max_depth: 2 }),
    );
    expect(outcome.status).toBe('completed');
    expect(results.slice(1).map((each) => parseResult(each))).toEqual([
      { previous_status: 'running' },
      { status: { [first]: 'shutdown' }, timed_out: false },
      { previous_status: 'shutdown' },
      { status: 'interrupted' },
    ]);
    expect(selectFacts(world, 'run.ended').map(({ runId, data }) => [runId, data.outcome.status])).toEqual([
      [second, 'cancelled'],
      [first, 'cancelled'],
      [rootId, 'completed'],
    ]);
  });

  it('a closed agent starts again with send_input', async () => {
    const { results } = await playTimed(
      [
        root(
          createCalls(spawn('look')),
          { delayMs: 100, ...createCalls(close(first)) },
          createCalls(createCall('resume_agent', { id: first })),
          createCalls(send(first, 'go on')),
          createCalls(wait([first])),
          { text: 'ok' },
        ),
        child('look', { text: 'begun', ...createCalls(createCall('list', { path: '.' })) }, { hang: 'start' }),
        child('go on', { expect: { prompt: 'stopped during this call' }, text: 'done' }),
      ],
      20_000,
    );
    expect(parseResult(results[4])).toMatchObject({ status: { [first]: { completed: 'done' } } });
  });

  it('an agent that has finished is closed without effect', async () => {
    const { results } = await playScript(codex(), [
      root(createCalls(spawn('look')), createCalls(wait([first])), createCalls(close(first)), { text: 'ok' }),
      child('look', { text: 'seen' }),
    ]);
    expect(parseResult(results[2])).toEqual({ previous_status: { completed: 'seen' } });
    expect(results[2]?.output).toContain(`<run-output run="${first}">`);
  });
});

it('the seventh agent at the same time is refused, and one that has ended makes room', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const { results } = await playTimed(
    [
      root(
        createCalls(...names.map((name) => spawn(`do ${name}`))),
        createCalls(spawn('do g')),
        createCalls(wait([first])),
        createCalls(spawn('do h')),
        {
          text: 'I wait',
        },
        ...Array.from({ length: 6 }, () => ({ text: 'one more' })),
      ),
      child('do a', { delayMs: 10, text: 'a' }),
      ...['b', 'c', 'd', 'e', 'f'].map((name, index) => child(`do ${name}`, { delayMs: 1000 + index, text: name })),
      child('do h', { delayMs: 2000, text: 'h' }),
    ],
    10_000,
  );
  expect(results[6]).toEqual({
    status: 'error',
    output: 'All 6 agents that may run at the same time are running (max_threads). Wait for one or close one.',
  });
  expect(parseResult(results[8])).toMatchObject({ agent_id: expect.stringMatching(/^[0-9a-f]{16}$/) });
});

describe('nesting', () => {
  const runs = [
    root(createCalls(spawn('look')), createCalls(wait([first], 60_000)), { text: 'ok' }),
    child('look', createCalls(spawn('deeper')), { text: 'alone' }),
  ];

  it('agents cannot spawn agents, unless max_depth says so', async () => {
    const { world } = await playScript(codex(), runs);
    const offered = selectFacts(world, 'run.created').map(({ data }) => data.grant.tools.filter((name) => name.endsWith('_agent')).length);
    expect(offered).toEqual([4, 0]);
    expect(selectResults(world, first)[0]).toEqual({
      status: 'error',
      output: 'Agents at this depth cannot spawn agents. Do the task yourself.',
    });
  });

  it('with max_depth 2 an agent delegates, and its parent cannot reach the agent of its agent', async () => {
    const nested = [
      root(createCalls(spawn('look')), createCalls(wait([first], 60_000)), createCalls(wait([second])), { text: 'ok' }),
      child('look', createCalls(spawn('deeper')), createCalls(wait([second], 60_000)), { text: 'both' }),
      child('deeper', { text: 'deep' }),
    ];
    const { results, world } = await playScript(codex({ max_depth: 2 }), nested);
    expect(parseResult(selectResults(world, first)[1])).toMatchObject({ status: { [second]: { completed: 'deep' } } });
    expect(parseResult(results[1])).toMatchObject({ status: { [first]: { completed: 'both' } } });
    expect(parseResult(results[2])).toMatchObject({ status: { [second]: 'not_found' } });
  });
});

it('an unknown agent_type and an unknown model are errors that name the parameter', async () => {
  const { results } = await playScript(codex(), [
    root(createCalls(spawn('x', { agent_type: 'wizard' }), spawn('x', { model: 'gpt' })), { text: 'ok' }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['error', 'error']);
  expect(results[0]?.output).toMatch(/^agent_type: there is no agent type "wizard"; available: default, explorer, worker, general/);
  expect(results[1]?.output).toMatch(/^model: /);
});

it('an agent may not do what its parent may not do', async () => {
  const { world } = await playScript(
    codex(),
    [
      root(createCalls(spawn('write it', { agent_type: 'worker' })), createCalls(wait([first])), { text: 'ok' }),
      child('write it', createCalls(createCall('write', { path: 'x', content: 'x' })), { text: 'denied' }),
    ],
    {},
    { rules: ['deny write'] },
  );
  expect(selectResults(world, first)[0]).toMatchObject({ status: 'denied' });
});

it('cancelling the root ends its agents, and nothing is left', async () => {
  const clock = createHandClock();
  const runs = [
    root(createCalls(spawn('a'), spawn('b')), createCalls(wait([first], 3_600_000))),
    child('a', { hang: 'start' }),
    child('b', { hang: 'start' }),
  ];
  const world = await openWorld(codex(), runs, { clock });
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(100);
  await run.cancel('enough');
  await clock.advance(5000);
  expect(await run.outcome).toMatchObject({ status: 'cancelled' });
  expect(selectFacts(world, 'run.ended').map(({ data }) => data.outcome.status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
  expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  await world[Symbol.asyncDispose]();
});

it('a wait never lasts longer than the deadline of the parent', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    codex(),
    [root(createCalls(spawn('a')), createCalls(wait([first], 3_600_000))), child('a', { hang: 'start' })],
    {
      clock,
      limits: { timeoutMs: 20_000, idleMs: 100_000, firstByteMs: 100_000 },
    },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(25_000);
  expect(await run.outcome).toMatchObject({ status: 'timed_out' });
  expect(selectFacts(world, 'run.ended')).toHaveLength(2);
  await world[Symbol.asyncDispose]();
});

it('after a crash the wait is made again, the id still means the newest work, and nothing is delivered twice', async () => {
  const store = createMemoryStore();
  const kept = { ...store, close: async () => {} };
  const steps = [spawn('look'), wait([first]), send(first, 'more'), wait([first], 3_600_000)].map((call) => createCalls(call));
  const before = [root(...steps), child('look', { text: 'seen' }), child('more', { hang: 'start' })];
  const excuses = { ended: 'interrupted', told: 'interrupted' };
  const stopped = await openWorld(codex(), before, { store: kept, excuses });
  const run = await stopped.runtime.start({ task: 'work' });
  await expect.poll(() => selectFacts(stopped, 'model.asked', second).length).toBe(1);
  await expect.poll(() => selectFacts(stopped, 'tool.asked', rootId).length).toBe(4);
  await store.release(stopped.runtime.owner);
  const after = [root(...steps, { expect: { prompt: 'seen twice' }, text: 'ok' }), child('more', { text: 'seen twice' })];
  await using next = await openWorld(codex(), after, { store: kept, settings: { workspace: stopped.workspace } });
  const resumed = await next.runtime.resume(run.id, 'a test');
  expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed', summary: 'ok' });
  const facts = await store.facts({ runId: rootId });
  const waited = facts.flatMap((fact) => (fact.type === 'tool.finished' && fact.data.turn === 4 ? [fact.data] : []));
  expect(waited).toMatchObject([{ status: 'ok', told: [second] }]);
  expect(parseResult(waited[0])).toEqual({ status: { [first]: { completed: 'seen twice' } }, timed_out: false });
  await stopped.runtime.close();
  await expect(run.outcome).rejects.toMatchObject({ code: 'fenced' });
});
