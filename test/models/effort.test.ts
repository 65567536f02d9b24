// How much a model thinks: what each provider gets over the wire, what is refused, and what the facts say. Every world is replayed at its end.
import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/contract/agent.ts';
import type { FactOf, FactType } from '../../src/contract/fact.ts';
import { modelObjectToHandle } from '../../src/models/model-object.ts';
import type { ProviderStep, Scenario } from '../../src/testing/provider-server.ts';
import { baseModel, finishPart, streamOf } from '../support/recording-model.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';
import { envOf, ground } from './providers-support.ts';

const done: ProviderStep = { text: 'Done.' };

function factsOf<T extends FactType>(world: World, type: T): FactOf<T>[] {
  return world.facts.filter((fact) => fact.type === type) as unknown as FactOf<T>[];
}

async function play(brief: object, answer: Scenario | ProviderStep[] = () => done, more: WorldOptions = {}) {
  const { server, models } = await ground(answer);
  await using world = await createWorld({ env: envOf(server.url), ...more, options: { models } });
  const outcome = await (await world.runtime.start({ task: 'work', agent: 'explore', ...brief })).outcome;
  return {
    outcome,
    world,
    // biome-ignore lint/suspicious/noExplicitAny: bodies of wire formats
    bodies: server.requests.map(({ body }) => body as any),
    notices: factsOf(world, 'run.created')[0]?.data.notices,
  };
}

describe('over the wire', () => {
  test.each([
    ['anthropic/claude-sonnet-5', 'high', { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } }],
    ['anthropic/claude-sonnet-5', 'none', { thinking: { type: 'disabled' } }],
    ['anthropic/claude-sonnet-4-5', 'low', { thinking: { type: 'enabled', budget_tokens: 4096 }, max_tokens: 36_096 }],
    ['anthropic/claude-sonnet-4-5', 6000, { thinking: { type: 'enabled', budget_tokens: 6000 }, max_tokens: 38_000 }],
    ['anthropic/claude-opus-4-1', 'max', { thinking: { type: 'enabled', budget_tokens: 24_000 }, max_tokens: 32_000 }],
    ['openai/gpt-5', 'minimal', { reasoning: { effort: 'minimal' } }],
    ['openai/gpt-5.2', 'xhigh', { reasoning: { effort: 'xhigh' } }],
    ['openai/model-of-a-proxy', 'high', { reasoning: { effort: 'high' } }],
    ['google/gemini-2.5-flash', 2000, { generationConfig: { thinkingConfig: { thinkingBudget: 2000 } } }],
    ['google/gemini-2.5-flash', 'none', { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
    ['google/gemini-3-pro', 'high', { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } }],
    ['ollama/qwen3', 'none', { reasoning_effort: 'none' }],
    ['openai-compatible/some/model', 'medium', { reasoning_effort: 'medium' }],
  ])('%s, %s', async (model, effort, expected) => {
    const { bodies, world, notices, outcome } = await play({ model, effort });
    expect(outcome.status).toBe('completed');
    expect(bodies[0]).toMatchObject(expected);
    expect(notices?.filter((notice) => notice.startsWith('effort'))).toEqual([]);
    expect(factsOf(world, 'run.created')[0]).toMatchObject({ v: 9, data: { effort, brief: { effort } } });
    expect(factsOf(world, 'model.asked')[0]).toMatchObject({ v: 4, data: { effort } });
  });

  test.each(['anthropic/claude-sonnet-5', 'openai/gpt-5', 'google/gemini-2.5-flash', 'ollama/qwen3'])('%s without it', async (model) => {
    const { bodies, world } = await play({ model });
    expect(JSON.stringify(bodies[0])).not.toMatch(/thinking|reasoning"|reasoning_effort|output_config/);
    expect(factsOf(world, 'run.created')[0]?.v).toBeLessThan(9);
    expect(factsOf(world, 'model.asked')[0]?.v).toBe(1);
  });

  test('thinking goes back with its signature, and every call of the run is told the same', async () => {
    const first: ProviderStep = { reasoning: 'let me see', signature: 'c2lnbmVk', calls: [{ tool: 'list', args: { path: '.' } }] };
    const { bodies } = await play({ model: 'anthropic/claude-sonnet-5', effort: 'high' }, [first, done]);
    expect(bodies[1].messages[1].content[0]).toEqual({ type: 'thinking', thinking: 'let me see', signature: 'c2lnbmVk' });
    expect(bodies.map((body) => [body.thinking, body.output_config])).toEqual([
      [bodies[0].thinking, { effort: 'high' }],
      [bodies[0].thinking, { effort: 'high' }],
    ]);
  });
});

describe('what a model lacks', () => {
  test.each([
    ['openai/gpt-5.1', 'max', 'it has no `max`, so `high` is used', { reasoning: { effort: 'high' } }],
    ['openai/gpt-5', 'none', 'it has no `none`, so `minimal` is used', { reasoning: { effort: 'minimal' } }],
    ['anthropic/claude-sonnet-4-6', 'xhigh', 'it has no `xhigh`, so `high` is used', { output_config: { effort: 'high' } }],
    ['google/gemini-2.5-pro', 'none', 'so 128 are used', { generationConfig: { thinkingConfig: { thinkingBudget: 128 } } }],
    ['anthropic/claude-sonnet-4-5', 10, 'it takes 1024 to 32000 thinking tokens, so 1024 are used', { thinking: { budget_tokens: 1024 } }],
  ])('%s, %s: the nearest is used, and a notice says so', async (model, effort, note, expected) => {
    const { bodies, notices } = await play({ model, effort });
    expect(notices?.join()).toContain(note);
    expect(bodies[0]).toMatchObject(expected);
  });

  const impossible = [
    ['openai/gpt-4.1', 'high', 'it is no thinking model'],
    ['anthropic/claude-3-5-haiku-latest', 2000, 'it is no thinking model'],
    ['openai/gpt-5', 2000, 'it takes a level instead of tokens: minimal, low, medium, high'],
    ['ollama/qwen3', 2000, 'it takes a level instead of tokens'],
  ] as const;

  test.each(impossible)('%s, %s: a brief is refused', async (model, effort, why) => {
    const refused = play({ model, effort });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_brief', message: expect.stringContaining(why) });
  });

  test.each(impossible)('%s, %s: an agent works without it, with a notice', async (model, effort, why) => {
    const agents: Agent[] = [{ name: 'thinker', description: '', prompt: 'Work.', source: 'a test', effort }];
    const { bodies, notices, world } = await play({ agent: 'thinker', model }, undefined, { agents });
    expect(notices?.join()).toMatch(/effort .* of the agent thinker has no effect with/);
    expect(notices?.join()).toContain(why);
    expect(JSON.stringify(bodies[0])).not.toMatch(/thinking_budget|reasoning"|reasoning_effort/);
    expect(factsOf(world, 'model.asked')[0]?.data.effort).toBeUndefined();
  });

  test('a model that does not think needs nothing for `none`', async () => {
    const { outcome, notices } = await play({ model: 'openai/gpt-4.1', effort: 'none' });
    expect([outcome.status, notices?.filter((notice) => notice.startsWith('effort'))]).toEqual(['completed', []]);
  });
});

describe('who decides', () => {
  const agents: Agent[] = [{ name: 'thinker', description: '', prompt: 'Work.', source: 'a test', effort: 'medium' }];
  const model = 'openai/gpt-5';
  const settings = { effort: 'low' as const };

  test.each([
    ['the brief', { agent: 'thinker', effort: 'high' }, 'high'],
    ['then the agent', { agent: 'thinker' }, 'medium'],
    ['then the configuration', {}, 'low'],
  ])('%s', async (_, brief, expected) => {
    const { bodies } = await play({ model, ...brief }, undefined, { agents, settings });
    expect(bodies[0].reasoning).toEqual({ effort: expected });
  });

  test('a child has its parent’s unless its own brief or agent says otherwise; it may ask for more', async () => {
    const tasks = [
      { task: 'one', agent: 'explore' },
      { task: 'two', agent: 'thinker' },
      { task: 'three', agent: 'explore', effort: 'high' },
    ];
    const answer: Scenario = ({ body }) =>
      JSON.stringify(body).includes('work') &&
      !JSON.stringify(body).includes('function_call_output') &&
      !/"(one|two|three)"/.test(JSON.stringify(body))
        ? { calls: [{ tool: 'delegate', args: { tasks } }] }
        : done;
    const { world } = await play({ model, agent: 'general', effort: 'minimal' }, answer, { agents, limits: { maxDepth: 1 } });
    const efforts = factsOf(world, 'run.created').map(({ data }) => [data.brief.task, data.effort]);
    expect(Object.fromEntries(efforts)).toEqual({ work: 'minimal', one: 'minimal', two: 'medium', three: 'high' });
  });
});

test('a fallback model that cannot be told is asked without it', async () => {
  const agents: Agent[] = [
    { name: 'thinker', description: '', prompt: 'Work.', source: 'a test', effort: 'high', model: ['openai/gpt-5', 'openai/gpt-4.1'] },
  ];
  const clock = (await import('../../src/system/clock.ts')).systemClock;
  const quick = { ...clock, monotonic: () => clock.monotonic() * 100, at: (due: number, fire: () => void) => clock.at(due / 100, fire) };
  const answer: Scenario = ({ model }) => (model === 'gpt-5' ? { fault: { kind: 'status', status: 500 } } : done);
  const { bodies, world } = await play({ agent: 'thinker' }, answer, { agents, clock: quick });
  expect(bodies.at(-1)).toMatchObject({ model: 'gpt-4.1' });
  expect(bodies.at(-1).reasoning).toBeUndefined();
  const asked = factsOf(world, 'model.asked').map(({ data }) => [data.model, data.effort]);
  expect(asked.at(0)).toEqual(['openai/gpt-5', 'high']);
  expect(asked.at(-1)).toEqual(['openai/gpt-4.1', undefined]);
});

describe('model objects of the AI SDK', () => {
  async function playObject(given: object, { effort = 'high' as string | number, warnings = [] as object[] } = {}) {
    const asked: Record<string, unknown>[] = [];
    const model = {
      ...baseModel({
        async doStream(options) {
          asked.push(options as unknown as Record<string, unknown>);
          const text = [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'Done.' },
            { type: 'text-end', id: '1' },
          ];
          return { stream: streamOf([{ type: 'stream-start', warnings } as never, ...(text as never[]), finishPart()]) };
        },
      }),
      ...given,
    };
    const handle = await modelObjectToHandle(model);
    await using world = await createWorld({ options: { models: { resolve: async () => handle } }, settings: { model: 'any' } });
    const outcome = await (await world.runtime.start({ task: 'work', agent: 'explore', effort })).outcome;
    return { outcome, asked: asked[0] };
  }

  test('of a known provider get its options', async () => {
    const { asked } = await playObject({ provider: 'openai.responses', modelId: 'gpt-5' });
    expect(asked?.providerOptions).toMatchObject({ openai: { reasoningEffort: 'high', store: false, promptCacheKey: expect.any(String) } });
  });

  test('of other providers get the level in the words of the AI SDK', async () => {
    const { asked } = await playObject({ provider: 'mistral.chat', modelId: 'magistral' });
    expect(asked?.reasoning).toBe('high');
  });

  test('end the run if their package would drop it', async () => {
    const warnings = [{ type: 'unsupported', feature: 'reasoning', details: 'not supported by this model' }];
    const { outcome } = await playObject({ provider: 'other', modelId: 'plain' }, { warnings });
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'bad_request', message: expect.stringContaining('not supported by this model') },
    });
  });

  test('of older interfaces are refused unless their provider is known', async () => {
    const old = { specificationVersion: 'v2', provider: 'mistral.chat', modelId: 'magistral' };
    await expect(playObject(old)).rejects.toMatchObject({
      code: 'invalid_brief',
      message: expect.stringContaining('it has no effort setting'),
    });
  });
});
