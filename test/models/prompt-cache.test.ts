// How long providers keep their cache of a conversation: what goes over the wire, and at which price. The clock is ours.
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { FactOf } from '../../src/contract/fact.ts';
import type { PromptCache } from '../../src/contract/prompt-cache.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { systemClock } from '../../src/system/clock.ts';
import type { ProviderStep } from '../../src/testing/provider-server.ts';
import { createWorld } from '../support/world.ts';
import { envOf, ground } from './providers-support.ts';

const usage = { input: 10_000, cached: 4000, written: 5000, output: 100 };
const wait: ProviderStep = { calls: [{ tool: 'wait', args: {} }], usage };

/** A run whose tool takes `minutes` on the clock of the runtime, twice. */
async function play(model: string, minutes: number, promptCache?: PromptCache) {
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const tool: AnyTool = {
    ...{ name: 'wait', description: 'waits', input: z.object({}), readOnly: true, idempotent: true, subjects: () => [] },
    async execute() {
      ahead += minutes * 60_000;
      return { output: 'waited' };
    },
  };
  const { server, models } = await ground([wait, wait, { text: 'Done.', usage }]);
  const agents = [{ name: 'waiter', description: '', prompt: 'You wait.', source: 'test', tools: ['wait'] }];
  const settings = promptCache === undefined ? {} : { promptCache };
  await using world = await createWorld({ env: envOf(server.url), clock, agents, tools: [tool], settings, options: { models } });
  await (await world.runtime.start({ task: 'work', agent: 'waiter', model })).outcome;
  const answered = world.facts.filter((fact) => fact.type === 'model.answered') as FactOf<'model.answered'>[];
  return { bodies: server.requests.map(({ body }) => JSON.stringify(body)), costs: answered.map(({ data }) => data.costUsd) };
}

const markers = (body: string) => body.match(/"cache_control":\{[^}]*\}/g) ?? [];
const short = '"cache_control":{"type":"ephemeral"}';
const long = '"cache_control":{"type":"ephemeral","ttl":"1h"}';
// $3 for input, 0.3 read, 3.75 written, 6 written for an hour, 15 for output.
const shortCost = (1000 * 3 + 4000 * 0.3 + 5000 * 3.75 + 100 * 15) / 1e6;
const longCost = (1000 * 3 + 4000 * 0.3 + 5000 * 6 + 100 * 15) / 1e6;
const claude = 'anthropic/claude-sonnet-4-5';

test.each<[string, number, PromptCache | undefined, boolean[]]>([
  ['minutes while a run does not wait long', 1, undefined, [false, false, false]],
  ['an hour from the first long wait on', 6, undefined, [false, true, true]],
  ['minutes if the configuration says so', 6, '5m', [false, false, false]],
  ['an hour if the configuration says so', 1, '1h', [true, true, true]],
])('Anthropic: %s', async (_, minutes, promptCache, isLong) => {
  const { bodies, costs } = await play(claude, minutes, promptCache);
  expect(bodies.map((body) => markers(body)[0])).toEqual(isLong.map((each) => (each ? long : short)));
  for (const body of bodies) {
    expect(markers(body).length).toBeLessThanOrEqual(4);
    expect(new Set(markers(body)).size).toBe(1);
  }
  expect(markers(bodies[2] as string)).toHaveLength(4);
  for (const [index, each] of isLong.entries()) expect(costs[index]).toBeCloseTo(each ? longCost : shortCost, 9);
});

test('OpenAI: longer only if the configuration says so, with one key for all requests', async () => {
  const { bodies } = await play('openai/gpt-5.1', 6);
  const keys = bodies.map((body) => /"prompt_cache_key":"[0-9a-f]{32}"/.exec(body)?.[0]);
  expect([new Set(keys).size, keys[0] !== undefined]).toEqual([1, true]);
  expect(bodies.join()).not.toContain('prompt_cache_retention');
  const set = await play('openai/gpt-5.1', 1, '1h');
  expect(set.bodies.every((body) => body.includes('"prompt_cache_retention":"24h"'))).toBe(true);
  const newer = await play('openai/gpt-5.6', 1, '1h');
  expect(newer.bodies.every((body) => body.includes('"prompt_cache_options":{"ttl":"30m"}'))).toBe(true);
});

test.each(['google/gemini-2.5-flash', 'ollama/qwen3'])('%s: nothing', async (model) => {
  const { bodies } = await play(model, 1, '1h');
  expect(bodies.join()).not.toMatch(/cache_?control|ttl|retention/i);
});
