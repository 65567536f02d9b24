// Delegation as a parent model uses it: the five native tools over the real kernel.
import { describe, expect, it } from 'vitest';
import type { FactOf, FactType } from '../../src/contract/fact.ts';
import { native } from '../../src/dialects/native.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createWorld, type World } from '../support/world.ts';

function factsOf<T extends FactType>(world: World, type: T, runId?: string): FactOf<T>[] {
  return world.facts.filter((fact) => fact.type === type && (runId === undefined || fact.runId === runId)) as FactOf<T>[];
}

const parent = (...steps: object[]) => ({ when: { agent: 'general' }, steps });
const child = (label: string, ...steps: object[]) => ({ when: { label }, steps });
const delegate = (tasks: object[], more: object = {}) => ({ calls: [{ tool: 'delegate', args: { tasks, ...more } }] });
const task = (label: string, more: object = {}) => ({ task: `do ${label}`, agent: 'explore', label, ...more });

async function play(runs: object[], brief: object = {}, more: object = {}) {
  const world = await createWorld({ script: { runs }, ...more });
  const outcome = await (await world.runtime.start({ task: 'work', ...brief })).outcome;
  const stats = world.runtime.stats();
  await world[Symbol.asyncDispose]();
  return { world, outcome, stats };
}

describe('in the foreground', () => {
  it('runs several briefs of one call at the same time and returns their outcomes in order', async () => {
    const clock = createHandClock();
    const runs = [
      parent(delegate([task('slow'), task('quick')]), { expect: { prompt: 'slow answer' }, text: 'both' }),
      child('slow', { delayMs: 1000, text: 'slow answer' }),
      child('quick', { delayMs: 10, text: 'quick answer' }),
    ];
    const world = await createWorld({ clock, script: { runs } });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(1000);
    expect((await run.outcome).status).toBe('completed');
    const ended = factsOf(world, 'child.ended').map((fact) => fact.data.outcome.label);
    expect(ended).toEqual(['quick', 'slow']);
    const [result] = factsOf(world, 'tool.finished', run.id);
    expect(result?.data.output.indexOf('slow answer')).toBeLessThan(result?.data.output.indexOf('quick answer') as number);
    expect(result?.data.output).toMatch(/^\[run [0-9a-f]{16} · completed · 1 turns? · /);
    await world[Symbol.asyncDispose]();
  });

  it('runs several delegate calls of one answer at the same time', async () => {
    const clock = createHandClock();
    const calls = ['a', 'b', 'c'].map((label) => ({ tool: 'delegate', args: { tasks: [task(label)] } }));
    const world = await createWorld({
      clock,
      script: { runs: [parent({ calls }, { text: 'ok' }), ...['a', 'b', 'c'].map((label) => child(label, { delayMs: 100, text: label }))] },
    });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(100);
    expect((await run.outcome).durationMs).toBe(100);
    await world[Symbol.asyncDispose]();
  });

  it('reports refusals to the model and starts the rest', async () => {
    const { world, outcome } = await play([
      parent(delegate([{ task: 'x', agent: 'explor' }, task('fine')]), { expect: { prompt: 'did you mean `explore`' }, text: 'ok' }),
      child('fine', { text: 'fine' }),
    ]);
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'child.created')).toHaveLength(1);
  });

  it('returns `running` after the wait, and the child wakes its parent later', async () => {
    const clock = createHandClock();
    const runs = [
      parent(
        delegate([task('late')], { wait_seconds: 1 }),
        { expect: { prompt: 'running' }, text: 'I go on' },
        { expect: { prompt: 'has ended' }, text: 'now I know' },
      ),
      child('late', { delayMs: 5000, text: 'late news' }),
    ];
    const world = await createWorld({ clock, script: { runs } });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(6000);
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'now I know' });
    await world[Symbol.asyncDispose]();
  });
});

describe('in the background', () => {
  it('a finished child wakes its parent once, fenced and labelled', async () => {
    const clock = createHandClock();
    const runs = [
      parent(delegate([task('bg')], { wait_seconds: 0 }), { text: 'started' }, { expect: { prompt: '</run-output>' }, text: 'done' }),
      child('bg', { delayMs: 100, text: 'the <run-output run="x"> news' }),
    ];
    const world = await createWorld({ clock, script: { runs } });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(50);
    expect((await world.store.run(run.id))?.status).toBe('waiting');
    expect(world.runtime.stats().active).toBe(1);
    await clock.advance(50);
    expect(await run.outcome).toMatchObject({ summary: 'done', turns: 3 });
    expect(factsOf(world, 'child.ended', run.id)).toHaveLength(1);
    const state = JSON.stringify(world.facts.filter((fact) => fact.runId === run.id));
    expect(state).toContain('the <run-output');
    await world[Symbol.asyncDispose]();
  });

  it('reports several ends in one turn, and does not report again what a wait has reported', async () => {
    const clock = createHandClock();
    const runs = [
      parent(
        delegate([task('a'), task('b')], { wait_seconds: 0 }),
        { calls: [{ tool: 'delegate_wait', args: { mode: 'any' } }] },
        { expect: { prompt: 'a is done' }, text: 'waiting for b' },
        { expect: { prompt: 'b is done' }, text: 'all' },
      ),
      child('a', { delayMs: 100, text: 'a is done' }),
      child('b', { delayMs: 300, text: 'b is done' }),
    ];
    const world = await createWorld({ clock, script: { runs } });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(300);
    expect(await run.outcome).toMatchObject({ summary: 'all', turns: 4 });
    const told = factsOf(world, 'tool.finished', run.id).flatMap((fact) => fact.data.told);
    expect(told).toHaveLength(1);
    await world[Symbol.asyncDispose]();
  });

  it('reports status and list without waiting', async () => {
    const clock = createHandClock();
    const runs = [
      parent(
        delegate([task('a')], { wait_seconds: 0 }),
        { calls: [{ tool: 'delegate_wait', args: { seconds: 0 } }] },
        { expect: { prompt: 'running' }, calls: [{ tool: 'delegate_wait' }] },
        { expect: { prompt: 'a is done' }, text: 'ok' },
      ),
      child('a', { delayMs: 100, text: 'a is done' }),
    ];
    const world = await createWorld({ clock, script: { runs } });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(100);
    expect((await run.outcome).status).toBe('completed');
    await world[Symbol.asyncDispose]();
  });
});

describe('steering', () => {
  it('a message reaches a running child at its next turn', async () => {
    const clock = createHandClock();
    const runs = [
      parent(
        delegate([task('a')], { wait_seconds: 0 }),
        { calls: [{ tool: 'delegate_message', args: { id: '{{run:1}}', text: 'also look at b' } }] },
        { calls: [{ tool: 'delegate_wait' }] },
        { expect: { prompt: 'looked at both' }, text: 'ok' },
      ),
      child(
        'a',
        { delayMs: 100, calls: [{ tool: 'list', args: { path: '.' } }] },
        { expect: { prompt: 'also look at b' }, text: 'looked at both' },
      ),
    ];
    const world = await createWorld({ clock, script: { runs } });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(100);
    // The list tool reads the real folder.
    await expect.poll(() => factsOf(world, 'tool.finished').filter(({ runId }) => runId !== run.id).length).toBe(1);
    await clock.advance(100);
    expect((await run.outcome).status).toBe('completed');
    await world[Symbol.asyncDispose]();
  });

  it('a message to a finished child continues its conversation', async () => {
    const runs = [
      parent(
        delegate([task('a')]),
        { calls: [{ tool: 'delegate_message', args: { id: '{{run:1}}', text: 'and why?' } }] },
        { calls: [{ tool: 'delegate_wait' }] },
        { expect: { prompt: 'because' }, text: 'ok' },
      ),
      child('a', { text: 'it is so' }),
      { when: { task: 'and why?' }, steps: [{ expect: { prompt: 'and why?' }, text: 'because' }] },
    ];
    const { world, outcome } = await play(runs);
    expect(outcome.status).toBe('completed');
    const started = factsOf(world, 'run.started').at(-1);
    expect(started?.data.history).not.toBeNull();
    const created = factsOf(world, 'run.created').at(-1);
    expect(created?.data.brief.continues).toBe(factsOf(world, 'child.created')[0]?.data.childId);
  });

  it('cancels a child and reports it', async () => {
    const runs = [
      parent(
        delegate([task('a')], { wait_seconds: 0 }),
        { calls: [{ tool: 'delegate_cancel', args: { ids: ['{{run:1}}'], reason: 'enough' } }] },
        { expect: { prompt: 'cancelled' }, text: 'ok' },
      ),
      child('a', { hang: 'start' }),
    ];
    const { world, outcome } = await play(runs);
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'cancel.asked')[0]?.data).toMatchObject({ reason: 'enough' });
    expect(factsOf(world, 'child.ended')[0]?.data.outcome).toMatchObject({
      status: 'cancelled',
      terminated: 'cancelled',
      error: { message: 'enough' },
    });
  });

  it('pages through a report that was cut', async () => {
    const long = `${'é'.repeat(20_000)}END`;
    const runs = [
      parent(
        delegate([task('a')]),
        {
          expect: { prompt: 'delegate_read' },
          calls: [{ tool: 'delegate_read', args: { id: '{{run:1}}', part: 'summary', offset: 19_990, limit: 100 } }],
        },
        { expect: { prompt: 'END' }, text: 'ok' },
      ),
      child('a', { text: long }),
    ];
    const { world, outcome } = await play(runs);
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'child.ended')[0]?.data.outcome.truncated).toEqual({ originalBytes: 40_003, keptBytes: 16_384 });
  });

  it('reads what a child did in few words, without prompts, hashes and whole results', async () => {
    const runs = [
      parent(
        { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look around', agent: 'explore', label: 'a' }] } }] },
        { calls: [{ tool: 'delegate_read', args: { id: '{{run:1}}', part: 'log' } }] },
        { text: 'ok' },
      ),
      child(
        'a',
        {
          text: 'First the big file.',
          calls: [
            { tool: 'read', args: { path: 'big.txt' } },
            { tool: 'read', args: { path: 'none.txt' } },
          ],
        },
        { text: 'seen' },
      ),
    ];
    const { world } = await play(runs, {}, { files: { 'big.txt': 'needle '.repeat(2000) } });
    const read = world.facts.findLast((fact) => fact.type === 'tool.finished');
    const output = read?.type === 'tool.finished' ? read.data.output : '';
    const lines = output.split('\n');
    expect(lines.filter((line) => !line.startsWith('turn 1: read')).slice(2, -1)).toEqual([
      'task: look around',
      'turn 1: First the big file.',
      'turn 2: seen',
      'ended: completed',
    ]);
    expect(lines).toContain('turn 1: read {"path":"none.txt"} -> error, none.txt does not exist');
    expect(output).toMatch(/^turn 1: read \{"path":"big\.txt"\} -> ok, 1 needle .*… \(\d+ more characters\)$/m);
    expect(output).not.toMatch(/[0-9a-f]{64}/);
    expect(output.length).toBeLessThan(1200);
  });

  it('knows only its own children', async () => {
    const runs = [
      parent(
        {
          calls: [
            { tool: 'delegate_wait', args: { ids: ['00000000000000ff'] } },
            { tool: 'delegate_read', args: { id: '00000000000000ff', part: 'log' } },
            { tool: 'delegate_cancel', args: { ids: ['00000000000000ff'] } },
          ],
        },
        { expect: { prompt: 'none of your delegated runs' }, text: 'ok' },
      ),
    ];
    expect((await play(runs)).outcome.status).toBe('completed');
  });
});

describe('limits of a tree', () => {
  it('children may not delegate at the default depth: the tools are not offered', async () => {
    const runs = [
      parent(delegate([task('a')]), { text: 'ok' }),
      child('a', delegate([task('b')]), { expect: { prompt: 'not available' }, text: 'alone' }),
    ];
    const { world, outcome } = await play(runs);
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'run.created')).toHaveLength(2);
    expect(factsOf(world, 'run.created')[1]?.data.grant.tools).not.toContain('delegate');
  });

  it('nests as deep as the root allows', async () => {
    const runs = [
      parent(delegate([task('a')]), { text: 'top' }),
      child('a', delegate([task('b')]), { text: 'middle' }),
      child('b', delegate([task('c')]), { expect: { prompt: 'not available' }, text: 'bottom' }),
    ];
    const { world, outcome } = await play(runs, { limits: { maxDepth: 2 } });
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'run.created').map((fact) => fact.data.depth)).toEqual([0, 1, 2]);
  });

  it('an agent that keeps delegating reaches the limit of runs and gets a typed refusal', async () => {
    const runs = [
      parent(delegate(Array.from({ length: 5 }, (_, n) => task(`t${n}`))), { expect: { prompt: 'already has 3 runs' }, text: 'ok' }),
      { when: { agent: 'explore' }, times: 2, steps: [{ text: 'x' }] },
    ];
    const { world, outcome } = await play(runs, { limits: { maxRuns: 3 } });
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'run.created')).toHaveLength(3);
  });

  it('adds up tokens and cost of the whole subtree', async () => {
    const price = { input: 1000, output: 1000 };
    const world = await createWorld({
      script: {
        model: { price },
        runs: [
          parent({ ...delegate([task('a'), task('b')]), usage: { input: 1, output: 1 } }, { text: 'ok', usage: { input: 1, output: 1 } }),
          ...['a', 'b'].map((label) => child(label, { text: label, usage: { input: 5, output: 5 } })),
        ],
      },
    });
    const outcome = await (await world.runtime.start({ task: 'work' })).outcome;
    expect(outcome.tokens).toMatchObject({ input: 12, output: 12 });
    expect(outcome.costUsd).toBeCloseTo(0.024);
    await world[Symbol.asyncDispose]();
  });

  it('a parent that ends with open children ends them too', async () => {
    const runs = [
      parent(delegate([task('a')], { wait_seconds: 0 }), { calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'my last word' }),
      child('a', { hang: 'start' }),
    ];
    const { world, outcome, stats } = await play(runs, { limits: { maxTurns: 2 } });
    expect(outcome).toMatchObject({ status: 'exhausted', summary: 'my last word' });
    expect(factsOf(world, 'child.ended')[0]?.data.outcome.status).toBe('cancelled');
    expect(stats).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  });
});

describe('a parent with its maximum number of children', () => {
  const runs = [
    parent(
      delegate(
        ['a', 'b', 'c'].map((label) => task(label)),
        {},
      ),
      { text: 'ok' },
    ),
    ...['a', 'b', 'c'].map((label) => child(label, { delayMs: 100, text: label })),
  ];

  it('queues further children, first come, first served', async () => {
    const clock = createHandClock();
    const world = await createWorld({ clock, script: { runs } });
    const run = await world.runtime.start({ task: 'work', limits: { maxConcurrent: 1 } });
    await clock.advance(250);
    expect(factsOf(world, 'run.started')).toHaveLength(4);
    expect(factsOf(world, 'child.ended').map((fact) => fact.data.outcome.label)).toEqual(['a', 'b']);
    await clock.advance(100);
    expect((await run.outcome).status).toBe('completed');
    await world[Symbol.asyncDispose]();
  });

  it('refuses them if the dialect says so, and the model reads it', async () => {
    const refused = [
      parent(delegate(['a', 'b'].map((label) => task(label))), { expect: { prompt: 'are already running' }, text: 'ok' }),
      child('a', { text: 'a' }),
    ];
    const world = await createWorld({ script: { runs: refused }, options: { dialect: { ...native, setup: { whenFull: 'refuse' } } } });
    const outcome = await (await world.runtime.start({ task: 'work', limits: { maxConcurrent: 1 } })).outcome;
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'child.created')).toHaveLength(1);
    await world[Symbol.asyncDispose]();
  });
});

describe('a client', () => {
  it('is a root without a model at depth 0, and nothing outlives it', async () => {
    const world = await createWorld({ script: { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] } });
    const client = await world.runtime.openClient({ label: 'mcp' });
    const run = await client.delegate({ task: 'work' });
    const ended = client.close();
    expect(await run.outcome).toMatchObject({ status: 'cancelled', depth: 1, parentId: client.id });
    expect(await ended).toMatchObject({ status: 'completed', depth: 0 });
    expect(world.types(client.id)).toEqual(['run.created', 'run.started', 'child.created', 'child.ended', 'run.ended']);
    await world[Symbol.asyncDispose]();
  });

  it('counts tree limits from each run it delegates', async () => {
    const world = await createWorld({ script: { runs: [{ times: 'any', steps: [{ text: 'x' }] }] }, limits: { maxRuns: 1 } });
    const client = await world.runtime.openClient();
    for (let n = 0; n < 3; n++) expect((await (await client.delegate({ task: `t${n}` })).outcome).status).toBe('completed');
    await client.close();
    await world[Symbol.asyncDispose]();
  });
});
