// One run with misbehaving models and tools. It must end in time, with one outcome that says what happened.
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { FactOf, FactType } from '../../src/contract/fact.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { anyAgent, checkJournal, idle, settled, tool } from '../support/adversary.ts';
import { baseModel, call, finishPart, handleOf, type PreparedAnswer, recordingModel, streamOf, text } from '../support/recording-model.ts';
import { createWorld, type World } from '../support/world.ts';

type StreamPart = LanguageModelV4StreamPart;
type DoStream = LanguageModelV4['doStream'];

function factsOf<T extends FactType>(world: World, type: T): FactOf<T>[] {
  return world.facts.filter((fact) => fact.type === type) as FactOf<T>[];
}

/** One run with a model that streams the given parts, on a clock that advances far enough for all attempts. */
async function withModel(doStream: DoStream, brief: object = {}, tools: AnyTool[] = []) {
  const clock = createHandClock();
  const models = { resolve: async () => handleOf(baseModel({ doStream })) };
  const world = await createWorld({ clock, tools, agents: [anyAgent], options: { models } });
  const run = await world.runtime.start({ task: 'work', agent: 'any', ...brief });
  await clock.advance(400_000);
  const outcome = await run.outcome;
  expect(world.runtime.stats()).toEqual(idle);
  expect(clock.pending()).toBe(0);
  await checkJournal(world);
  await world[Symbol.asyncDispose]();
  return { outcome, world };
}

const said = (id: string, ...deltas: string[]): StreamPart[] => [
  { type: 'text-start', id },
  ...deltas.map((delta): StreamPart => ({ type: 'text-delta', id, delta })),
  { type: 'text-end', id },
];
const answering =
  (...parts: unknown[]): DoStream =>
  async () => ({ stream: streamOf(parts as StreamPart[]) });

describe('a model with a broken stream', () => {
  it.each<[string, DoStream]>([
    [
      'throws at once',
      () => {
        throw new Error('boom');
      },
    ],
    ['gives nothing', (() => undefined) as unknown as DoStream],
    ['gives no stream', (async () => ({})) as unknown as DoStream],
    ['rejects with nothing', () => Promise.reject(undefined)],
    ['streams nothing', answering()],
    ['streams no end', answering(...said('1', 'half'))],
    ['streams an error', answering(...said('1', 'half'), { type: 'error', error: 'overloaded' })],
    ['streams an error that is none', answering({ type: 'error', error: null })],
    ['streams null', answering(null)],
    ['streams a delta without text', answering({ type: 'text-delta', id: '1' })],
    ['streams a call without input', answering({ type: 'tool-call', toolCallId: 'a', toolName: 'x' })],
    ['streams an end without a reason', answering(...said('1', 'half'), { type: 'finish' })],
    ['ends with an error', answering(...said('1', 'half'), finishPart('error'))],
  ])('%s: a typed failure after all attempts', async (_, doStream) => {
    const { outcome, world } = await withModel(doStream);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'provider' }, turns: 0 });
    expect(factsOf(world, 'model.failed')).toHaveLength(6);
    expect(['', 'half']).toContain(outcome.summary);
  });

  const never = () => new Promise<never>(() => {});
  it.each<[string, DoStream]>([
    ['never answers and ignores its signal', never],
    [
      'opens a stream that never says anything and cannot be cancelled',
      async () => ({ stream: new ReadableStream({ pull: never, cancel: never }) }),
    ],
  ])('%s: silence ends the attempt, and the deadline ends the run', async (_, doStream) => {
    const { outcome, world } = await withModel(doStream, { limits: { firstByteMs: 1000, timeoutMs: 2500 } });
    expect(outcome).toMatchObject({ status: 'timed_out', durationMs: 2500 });
    expect(factsOf(world, 'model.failed')[0]?.data.error.code).toBe('provider_timeout');
  });

  it('is ignored after the end of its stream', async () => {
    const made: string[] = [];
    const act = tool('act', async () => ({ output: String(made.push('acted')) }));
    const late = { type: 'tool-call', toolCallId: 'late', toolName: 'act', input: '{}' };
    const { outcome } = await withModel(answering(...said('1', 'the answer'), finishPart(), ...said('2', ' and more'), late), {}, [act]);
    expect(outcome).toMatchObject({ status: 'completed', summary: 'the answer', turns: 1 });
    expect(made).toEqual([]);
  });

  it('does not lose its answer to an error after the end', async () => {
    const { outcome } = await withModel(answering(...said('1', 'the answer'), finishPart(), { type: 'error', error: new Error('late') }));
    expect(outcome).toMatchObject({ status: 'completed', summary: 'the answer' });
  });

  it('may use the same id for several texts, and ids that were never started', async () => {
    const { outcome } = await withModel(
      answering(
        ...said('1', 'a', 'b'),
        ...said('1', 'c'),
        { type: 'text-delta', id: '9', delta: 'd' },
        { type: 'text-end', id: '8' },
        finishPart(),
      ),
    );
    expect(outcome.summary).toBe('abcd');
  });

  it('may stream unknown parts and a hundred thousand tiny deltas', async () => {
    const deltas = Array.from({ length: 100_000 }, (_, n) => String(n % 10));
    const { outcome } = await withModel(answering({ type: 'news' }, ...said('1', ...deltas), finishPart()));
    expect(outcome).toMatchObject({ status: 'completed', summary: deltas.join('') });
  });

  it('fails if its answer is far too large, as deltas or as one call', async () => {
    const huge = 'x'.repeat(9 * 1024 * 1024);
    const asCall = { type: 'tool-call', toolCallId: 'a', toolName: 'x', input: JSON.stringify({ huge }) };
    for (const parts of [said('1', huge), [asCall]]) {
      const { outcome, world } = await withModel(answering(...parts, finishPart()));
      expect(outcome).toMatchObject({ status: 'failed', error: { code: 'provider', retryable: false } });
      expect(factsOf(world, 'model.failed')).toHaveLength(1);
    }
  });
});

/** One run that calls the tool `act` and then ends; returns the result that the model read. */
async function withTool(act: AnyTool, input: object | string = {}) {
  const answers: PreparedAnswer[] = [{ parts: [call('c1', 'act', input)] }, { parts: [text('done')] }];
  const { model, asked } = recordingModel(answers);
  const models = { resolve: async () => handleOf(model) };
  const world = await createWorld({ clock: createHandClock(), tools: [act], agents: [anyAgent], options: { models } });
  const run = await world.runtime.start({ task: 'work', agent: 'any', tools: { allow: ['act'] } });
  await settled();
  expect(world.runtime.stats()).toEqual(idle);
  const outcome = await run.outcome;
  await checkJournal(world);
  await world[Symbol.asyncDispose]();
  return { outcome, result: factsOf(world, 'tool.finished')[0]?.data, asked, world };
}

describe('a misbehaving tool', () => {
  const anything = (value: unknown) => tool('act', (async () => value) as unknown as AnyTool['execute']);
  const throwing = (value: unknown) =>
    tool('act', () => {
      throw value;
    });
  const circular: { self?: unknown } = {};
  circular.self = circular;

  it.each<[string, AnyTool]>([
    ['gives nothing', anything(undefined)],
    ['gives null', anything(null)],
    ['gives a bare text', anything('hello')],
    ['gives no output', anything({})],
    ['gives a number as output', anything({ output: 7 })],
    ['gives an object as output', anything({ output: { a: 1 } })],
    ['gives an output that cannot be made a text', anything({ output: Object.create(null) })],
    ['gives a taint that cannot be written', anything({ output: 'x', taint: [1n] })],
    ['gives a circle', anything({ output: 'x', told: circular })],
    ['gives an artifact that is none', anything({ output: 'x', artifacts: [{ kind: 'path', value: circular, bytes: 1n }] })],
    ['throws at once', throwing(new Error('broken'))],
    ['throws nothing', throwing(undefined)],
    ['throws what cannot be made a text', throwing(Object.create(null))],
    [
      'throws an error whose message throws',
      throwing(Object.defineProperty(new Error(), 'message', { get: () => circular.self!.toString.call(null) + 1n })),
    ],
    ['rejects with a text', tool('act', () => Promise.reject('no'))],
  ])('%s: the model reads one error, and the run continues', async (_, act) => {
    const { outcome, result, asked } = await withTool(act);
    expect(outcome).toMatchObject({ status: 'completed', summary: 'done', turns: 2 });
    expect(result).toMatchObject({ status: 'error', truncated: null });
    expect(result?.output).toMatch(/^act failed: ./);
    expect(asked).toHaveLength(2);
  });

  it('cannot execute a call whose subjects it cannot name', async () => {
    let made = 0;
    const subjects = () => {
      throw new Error('what subjects?');
    };
    const { outcome, result, world } = await withTool(tool('act', async () => ({ output: String(++made) }), { subjects }));
    expect(outcome.status).toBe('completed');
    expect(result).toMatchObject({ status: 'error', output: expect.stringContaining('what subjects?') });
    expect(factsOf(world, 'tool.asked')[0]?.data.rejected).not.toBeNull();
    expect(made).toBe(0);
  });

  it('gets the parsed arguments, while the model gets back what it wrote', async () => {
    const given: unknown[] = [];
    const input = z.strictObject({ n: z.string().transform((value) => value.length), m: z.number().default(3) });
    const act = tool('act', async (value) => ({ output: String(given.push(value)) }), { input });
    const { outcome, asked, world } = await withTool(act, { n: 'four' });
    expect(outcome.status).toBe('completed');
    expect(given).toEqual([{ n: 4, m: 3 }]);
    expect(factsOf(world, 'tool.asked')[0]?.data.arguments).toEqual({ n: 'four' });
    expect(asked[1]?.prompt[2]).toMatchObject({ content: [{ type: 'tool-call', input: { n: 'four' } }] });
  });

  it.each([
    [
      'throws',
      z.strictObject({}).refine(() => {
        throw new Error('a bad check');
      }),
    ],
    ['is asynchronous', z.strictObject({}).refine(async () => true)],
  ])('with a schema that %s returns an error', async (_, input) => {
    const { outcome, result } = await withTool(tool('act', async () => ({ output: 'x' }), { input }));
    expect(outcome.status).toBe('completed');
    expect(result?.status).toBe('error');
  });

  it('cannot change the arguments that were journaled', async () => {
    const act = tool(
      'act',
      async (value) => {
        (value as { list: number[] }).list.push(666);
        return { output: 'x' };
      },
      { input: z.any() },
    );
    const { world, asked } = await withTool(act, { list: [1] });
    expect(factsOf(world, 'tool.asked')[0]?.data.arguments).toEqual({ list: [1] });
    expect(asked[1]?.prompt[2]).toMatchObject({ content: [{ input: { list: [1] } }] });
  });
});

describe('text that is not valid Unicode', () => {
  const lone = 'a\ud800b\udc00c';
  it('is made well-formed wherever it enters, and facts and hashes stay valid', async () => {
    const answers: PreparedAnswer[] = [
      { parts: [text(lone), call(`i${lone}`, 'act', `{"say": "${lone} \\ud800 \\uDBFF\\uDFFF \\\\ud800"}`)] },
      { parts: [call('c2', lone, '{}')] },
      { parts: [text(`end ${lone}`)] },
    ];
    const { model, asked } = recordingModel(answers);
    const act = tool('act', async () => ({ output: `out ${lone}` }), { input: z.strictObject({ say: z.string() }) });
    const world = await createWorld({ tools: [act], agents: [anyAgent], options: { models: { resolve: async () => handleOf(model) } } });
    const brief = { task: `do ${lone}`, label: lone, context: lone, agent: 'any', tools: { allow: ['act'] } };
    const run = await world.runtime.start(brief);
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ status: 'completed', summary: 'end a\ufffdb\ufffdc', label: 'a\ufffdb\ufffdc' });
    await checkJournal(world);
    const written = JSON.stringify([asked, await world.store.facts({})]);
    expect(written).not.toMatch(/(?<!\\)(\\\\)*\\ud[89a-f]/i);
    expect(factsOf(world, 'tool.asked')[0]?.data.arguments).toEqual({ say: 'a\ufffdb\ufffdc \ufffd \u{10ffff} \\ud800' });
    await world[Symbol.asyncDispose]();
  });

  it('is also made well-formed in messages and reasons', async () => {
    const clock = createHandClock();
    const world = await createWorld({ clock, script: { runs: [{ steps: [{ hang: 'start' }] }] } });
    const run = await world.runtime.start({ task: 'work' });
    await run.send(lone, lone);
    await run.cancel(lone, lone);
    expect((await run.outcome).error?.message).toBe('a\ufffdb\ufffdc');
    expect(JSON.stringify(world.facts)).not.toMatch(/\\ud[89a-f]/i);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });
});
