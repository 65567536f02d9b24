// Faults in whole runs, with the kernel's retries. The clock is a hundred times faster than real time; the server is not.
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { FactOf, FactType } from '../../src/contract/fact.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import type { Fault, ProviderRequest, ProviderStep, Scenario } from '../../src/testing/provider-server.ts';
import { startBeatClock } from '../support/beat-clock.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';
import { envOf, ground, key, names } from './providers-support.ts';

function factsOf<T extends FactType>(world: World, type: T, runId?: string): FactOf<T>[] {
  return world.facts.filter((fact) => fact.type === type && (runId === undefined || fact.runId === runId)) as FactOf<T>[];
}

async function play(answer: Scenario | ProviderStep[], brief: object = {}, more: WorldOptions = {}) {
  const { server, models } = await ground(answer);
  const { clock, stop } = startBeatClock(100);
  onTestFinished(stop);
  const world = await createWorld({ clock, env: envOf(server.url), ...more, options: { models } });
  const outcome = await (await world.runtime.start({ task: 'work', agent: 'explore', model: names.anthropic, ...brief })).outcome;
  const stats = world.runtime.stats();
  await world[Symbol.asyncDispose]();
  expect(stats).toMatchObject({ active: 0, queued: 0, timers: 0 });
  return { outcome, world, server };
}

const limits = { firstByteMs: 15_000, idleMs: 15_000 };
const done: ProviderStep = { text: 'Done.' };

test.each<Fault>([
  { kind: 'status', status: 429, retryAfterMs: 200 },
  { kind: 'status', status: 429 },
  { kind: 'status', status: 529 },
  { kind: 'status', status: 500 },
  { kind: 'error-event', status: 529 },
  { kind: 'reset' },
  { kind: 'reset', when: 'middle' },
  { kind: 'half' },
  { kind: 'malformed-event' },
  { kind: 'ping-only' },
  { kind: 'no-first-byte' },
  { kind: 'stall' },
])('$kind $status $when: is retried, and the run continues', async (fault) => {
  const { outcome, world, server } = await play([{ text: 'never to be kept', fault }, { text: 'nor this', fault }, done], { limits });
  expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.', turns: 1 });
  expect(server.requests).toHaveLength(3);
  expect(server.requests[1]?.body).toEqual(server.requests[0]?.body);
  expect(factsOf(world, 'model.failed').map((fact) => [fact.data.attempt, fact.data.again])).toEqual([
    [1, true],
    [2, true],
  ]);
});

test.each<[number, string]>([
  [429, 'rate_limited'],
  [529, 'rate_limited'],
  [502, 'provider'],
])('%i forever: six attempts and a typed failure', async (status, code) => {
  const { outcome, server } = await play(() => ({ fault: { kind: 'status', status, retryAfterMs: 100 } }));
  expect(outcome).toMatchObject({ status: 'failed', error: { code, retryable: true } });
  expect(server.requests).toHaveLength(6);
});

test('silence forever: a typed failure', async () => {
  const { outcome, server } = await play(() => ({ fault: { kind: 'no-first-byte' } }), { limits: { firstByteMs: 3000 } });
  expect(outcome).toMatchObject({ status: 'failed', error: { code: 'provider_timeout', retryable: true } });
  expect(server.requests).toHaveLength(6);
});

describe('the deadline', () => {
  test('a Retry-After beyond it is not waited for', async () => {
    // Nothing moves this clock: a wait would last for ever.
    const { outcome, server } = await play(
      [{ fault: { kind: 'status', status: 429, retryAfter: 3600 } }],
      { limits: { timeoutMs: 60_000 } },
      { clock: createHandClock() },
    );
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'rate_limited', message: expect.stringContaining('past the deadline') },
    });
    expect(server.requests).toHaveLength(1);
    expect(outcome.durationMs).toBeLessThan(2000);
  });

  test('retries end with it', async () => {
    const { outcome, server } = await play(() => ({ fault: { kind: 'status', status: 500 } }), { limits: { timeoutMs: 12_000 } });
    expect(outcome.status).toBe('timed_out');
    expect(server.requests.length).toBeGreaterThan(1);
    expect(server.requests.length).toBeLessThan(6);
  });
});

test.each([401, 403])('%i: one request, and no fact or outcome contains the key', async (status) => {
  const { outcome, world, server } = await play([{ fault: { kind: 'status', status, message: `${key} is not known here` } }]);
  expect(outcome).toMatchObject({ status: 'failed', error: { code: 'auth', retryable: false } });
  expect(outcome.error?.message).toBe('[secret ANTHROPIC_API_KEY] is not known here (check ANTHROPIC_API_KEY)');
  expect(server.requests).toHaveLength(1);
  expect(JSON.stringify([world.facts, outcome])).not.toContain(key);
});

describe('an incomplete tool call', () => {
  function counting() {
    const done: unknown[] = [];
    const act: AnyTool = {
      name: 'act',
      description: 'does something',
      input: z.strictObject({ path: z.string().optional() }),
      readOnly: false,
      idempotent: false,
      subjects: () => [],
      async execute(input) {
        done.push(input);
        return { output: 'ok' };
      },
    };
    const agents = [{ name: 'actor', description: '', prompt: 'You act.', source: 'test', tools: ['act'] }];
    return { done, world: { tools: [act], agents } };
  }
  const calls = [{ tool: 'act', args: { path: 'a/path/that/comes/in/several/pieces' } }];

  test.each(Object.entries(names))('%s: a call that was cut off in the stream is not executed', async (_, model) => {
    const { done: made, world } = counting();
    const given: ProviderStep[] = [{ calls, fault: { kind: 'half' } }, { calls, fault: { kind: 'reset', when: 'middle' } }, done];
    const { outcome, world: seen } = await play(given, { model, agent: 'actor' }, world);
    expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
    expect(made).toEqual([]);
    expect(factsOf(seen, 'tool.asked')).toEqual([]);
  });

  test.each(Object.entries(names))('%s: a call whose arguments were cut by the output limit is not executed', async (_, model) => {
    const { done: made, world } = counting();
    const given: ProviderStep[] = [
      { text: 'I act.', calls: [{ tool: 'act', raw: '{"path": "a' }], finish: 'length' },
      { text: 'I act.', calls: [{ tool: 'act', raw: '' }], finish: 'length' },
      done,
    ];
    const { outcome } = await play(given, { model, agent: 'actor' }, world);
    expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
    expect(made).toEqual([]);
  });
});

describe('a conversation that is too long', () => {
  const files = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, `${name.repeat(40)}\n`.repeat(100)]));
  const tooLong: Fault = { kind: 'status', status: 400, message: 'prompt is too long: 208310 tokens > 200000 maximum' };

  test('is pruned, and the same request is not sent again', async () => {
    const reads = Object.keys(files).map((path): ProviderStep => ({ calls: [{ tool: 'read', args: { path } }] }));
    const { server, models } = await ground([...reads, { fault: tooLong }, done]);
    await using world = await createWorld({ files, options: { models } });
    const outcome = await (await world.runtime.start({ task: 'work', agent: 'explore', model: names.anthropic })).outcome;
    expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
    const bodies = server.requests.map((request) => JSON.stringify(request.body));
    expect(new Set(bodies).size).toBe(bodies.length);
    expect(bodies[6]?.length).toBeLessThan(0.7 * (bodies[5]?.length ?? 0));
    expect(factsOf(world, 'context.pruned')).toHaveLength(1);
  });

  test('ends the run if nothing can be removed', async () => {
    const { outcome, server } = await play(() => ({ fault: tooLong }));
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'context_length', retryable: false } });
    expect(server.requests).toHaveLength(1);
  });
});

describe('siblings', () => {
  const tasks = (...models: string[]) => models.map((model, index) => ({ task: `task ${index}`, agent: 'explore', model }));
  /** The parent delegates and then ends; `child` gives the answers for its children. */
  const parentAnd =
    (delegated: object[], child: (request: ProviderRequest) => ProviderStep): Scenario =>
    (request) => {
      const said = JSON.stringify(request.body);
      if (said.includes('the parent'))
        return said.includes('tool_result') ? done : { calls: [{ tool: 'delegate', args: { tasks: delegated } }] };
      return child(request);
    };
  const parent = { task: 'the parent', agent: 'general' };

  test('of another provider are not affected by one that is rate-limited forever', async () => {
    const { outcome, world } = await play(
      parentAnd(tasks(names.openai, names.google, names.google), ({ provider }) =>
        provider === 'openai' ? { fault: { kind: 'status', status: 429 } } : { text: 'fine' },
      ),
      parent,
    );
    expect(outcome.status).toBe('completed');
    const ended = factsOf(world, 'child.ended').map((fact) => fact.data.outcome);
    expect(ended.map((child) => child.status)).toEqual(['completed', 'completed', 'failed']);
    expect(ended.at(-1)?.error?.code).toBe('rate_limited');
    expect(ended.slice(0, 2).every((child) => child.turns === 1)).toBe(true);
  });

  test('of the same provider wait for its back-off and then all continue', async () => {
    let refusals = 0;
    const { world } = await play(
      parentAnd(tasks(...Array<string>(6).fill(names.google)), () =>
        ++refusals <= 3 ? { fault: { kind: 'status', status: 429, retryAfterMs: 3000 } } : { text: 'fine' },
      ),
      parent,
    );
    expect(factsOf(world, 'child.ended').map((fact) => fact.data.outcome.status)).toEqual(Array(6).fill('completed'));
  });

  test.each<Fault>([
    { kind: 'no-first-byte' },
    { kind: 'half' },
    { kind: 'huge-line' },
    { kind: 'ping-only' },
    { kind: 'status', status: 401 },
  ])('are not affected by one that meets $kind', async (fault) => {
    const { world } = await play(
      parentAnd(tasks(names.google, names.google), ({ body }) =>
        JSON.stringify(body).includes('task 0') ? { text: 'x', fault } : { text: 'fine' },
      ),
      { ...parent, limits: { firstByteMs: 6000 } },
    );
    const ended = factsOf(world, 'child.ended').map((fact) => fact.data.outcome);
    expect(ended.map((child) => child.status).sort()).toEqual(['completed', 'failed']);
    expect(ended.find((child) => child.success)).toMatchObject({ summary: 'fine', turns: 1 });
  });
});
