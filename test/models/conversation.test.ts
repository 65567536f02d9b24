// Whole runs over the network: a provider gets its own output back unchanged, and its usage is counted.
import { describe, expect, test } from 'vitest';
import type { ProviderStep } from '../../src/testing/provider-server.ts';
import { createWorld } from '../support/world.ts';
import { all, ground, key, type Name, names } from './providers-support.ts';

const steps: ProviderStep[] = [
  {
    reasoning: 'I think about it.',
    signature: 'c2lnbmF0dXJl',
    text: 'I look.',
    calls: [{ tool: 'list', args: { path: '.' }, signature: 'Y2FsbA==' }],
    usage: { input: 100, output: 20, reasoning: 8 },
  },
  { text: 'Done.', usage: { input: 2000, output: 10, cached: 1500, written: 500 } },
];

// biome-ignore lint/suspicious/noExplicitAny: bodies of four wire formats
type Body = any;

async function play(model: string, brief: object = {}, given = steps) {
  const { server, models } = await ground(given);
  const world = await createWorld({ options: { models } });
  const outcome = await (await world.runtime.start({ task: 'work', agent: 'explore', model, ...brief })).outcome;
  await world[Symbol.asyncDispose]();
  return { server, outcome, world, body: server.requests.at(-1)?.body as Body };
}

test.each(all)('$provider: a run of two turns', async ({ model }) => {
  const { outcome, world, server } = await play(model);
  expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.', turns: 2, error: null });
  expect(outcome.tokens).toEqual({ input: 2100, output: 30, cached: 1500, reasoning: 8 });
  expect(server.requests).toHaveLength(2);
  expect(JSON.stringify(world.facts)).not.toContain(key);
});

test('Anthropic gets its thinking back with the signature, before the tool call', async () => {
  const { body } = await play(names.anthropic);
  expect(body.messages[1]).toEqual({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'I think about it.', signature: 'c2lnbmF0dXJl' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'call_1_1', name: 'list', input: { path: '.' } },
    ],
  });
});

test('Anthropic gets redacted thinking back', async () => {
  const { body } = await play(names.anthropic, {}, [
    { redacted: 'b3BhcXVl', calls: [{ tool: 'list', args: { path: '.' } }] },
    { text: 'Done.' },
  ]);
  expect(body.messages[1].content[0]).toEqual({ type: 'redacted_thinking', data: 'b3BhcXVl' });
});

test('OpenAI gets its reasoning back encrypted and stores nothing', async () => {
  const { body } = await play(names.openai);
  expect(body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
  // Else it makes every optional argument a required one.
  expect(body.tools.every((tool: Body) => tool.strict === false)).toBe(true);
  expect(body.input.slice(2, 5)).toEqual([
    {
      type: 'reasoning',
      id: 'rs_1',
      encrypted_content: 'c2lnbmF0dXJl',
      summary: [{ type: 'summary_text', text: 'I think about it.' }],
    },
    { role: 'assistant', content: 'I look.' },
    { type: 'function_call', call_id: 'call_1_1', name: 'list', arguments: '{"path":"."}' },
  ]);
});

test('OpenAI gets one cache key for all requests of a run, and another one for another run', async () => {
  const keysOf = async (task: string) => {
    const { server } = await play(names.openai, { task });
    return new Set(server.requests.map(({ body }) => (body as Body).prompt_cache_key));
  };
  const [first, second] = [await keysOf('one task'), await keysOf('another task')];
  expect([first.size, second.size]).toEqual([1, 1]);
  expect([...first][0]).toMatch(/^[0-9a-f]{32}$/);
  expect(first).not.toEqual(second);
});

test('Google gets the thought signature of each part back on that part', async () => {
  const { body } = await play(names.google);
  expect(body.contents[1]).toEqual({
    role: 'model',
    parts: [
      { text: 'I think about it.', thought: true, thoughtSignature: 'c2lnbmF0dXJl' },
      { text: 'I look.' },
      { functionCall: { id: 'call_1_1', name: 'list', args: { path: '.' } }, thoughtSignature: 'Y2FsbA==' },
    ],
  });
});

test.each(['ollama', 'openai-compatible'] as Name[])(
  '%s gets its signature back where it came from, and no field of our own',
  async (name) => {
    const { body } = await play(names[name]);
    expect(body.messages.slice(2)).toEqual([
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'I think about it.',
        tool_calls: [
          {
            id: 'call_1_1',
            type: 'function',
            function: { name: 'list', arguments: '{"path":"."}' },
            extra_content: { google: { thought_signature: 'Y2FsbA==' } },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1_1', content: expect.any(String) },
    ]);
    expect(body.stream_options).toEqual({ include_usage: true });
  },
);

test('reasoning without a text keeps its signature', async () => {
  const silent = [{ signature: 'c2ln', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'Done.' }];
  const anthropic = await play(names.anthropic, {}, silent);
  expect(anthropic.body.messages[1].content[0]).toEqual({ type: 'thinking', thinking: '', signature: 'c2ln' });
  const openai = await play(names.openai, {}, silent);
  expect(openai.body.input[2]).toEqual({ type: 'reasoning', id: 'rs_1', encrypted_content: 'c2ln', summary: [] });
});

describe('cost', () => {
  test('Anthropic: input that is not read from the cache counts as written to it', async () => {
    const { outcome } = await play(names.anthropic);
    const first = 100 * 3 + 20 * 15;
    const second = 1500 * 0.3 + 500 * 3.75 + 10 * 15;
    expect(outcome.costUsd).toBeCloseTo((first + second) / 1e6, 9);
  });

  test('OpenAI: cached input is cheaper, reasoning costs as output', async () => {
    const { outcome } = await play(names.openai);
    expect(outcome.costUsd).toBeCloseTo(((100 + 500) * 1.25 + 1500 * 0.125 + 30 * 10) / 1e6, 9);
  });

  test('an unknown price stays unknown, and a cost limit is refused', async () => {
    expect((await play(names.ollama)).outcome.costUsd).toBeNull();
    await expect(play(names.ollama, { limits: { maxCostUsd: 1 } })).rejects.toMatchObject({ code: 'price_unknown' });
  });
});

test('siblings share a provider, and one that fails does not affect the other', async () => {
  const answer = ({ body }: { body: unknown }): ProviderStep => {
    const said = JSON.stringify(body);
    if (said.includes('tool_result')) return { text: 'All are back.' };
    if (said.includes('the bad one')) return { fault: { kind: 'status', status: 400, message: 'no such thing' } };
    return said.includes('the good one') ? { text: 'good', delayMs: 20 } : { calls: [{ tool: 'delegate', args: { tasks } }] };
  };
  const tasks = ['the bad one', 'the good one', 'the good one'].map((task) => ({ task, agent: 'explore' }));
  const { models } = await ground(answer);
  await using world = await createWorld({ options: { models } });
  const outcome = await (await world.runtime.start({ task: 'work', model: names.anthropic })).outcome;
  expect(outcome).toMatchObject({ status: 'completed', summary: 'All are back.' });
  const children = world.facts.flatMap((fact) => (fact.type === 'child.ended' ? [fact.data.outcome] : []));
  expect(children.map((child) => [child.status, child.error?.code ?? null]).sort()).toEqual([
    ['completed', null],
    ['completed', null],
    ['failed', 'bad_request'],
  ]);
});
