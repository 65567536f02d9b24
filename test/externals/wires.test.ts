// The promises of the model gate in each protocol: allowed endpoints and models, no tools of the provider, budget before each call, true tokens, and
// answers that wait until they are durable and judged.
import { describe, expect, it } from 'vitest';
import { parseRule } from '../../src/rules/policy.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { ProviderStep } from '../../src/testing/provider-server.ts';
import { createExternalWorld, type ExternalWorldOptions, realKey } from './support.ts';

const withRules = (...rules: string[]) => [{ kind: 'owner' as const, owner: 'test', rules: ['allow *', ...rules].map(parseRule) }];
const usage = { input: 100, output: 10 };
const bash = (command: string): ProviderStep => ({ calls: [{ tool: 'Bash', args: { command } }], usage });
const say = (text: string): ProviderStep => ({ text, usage });

const wires = [
  { wire: 'chat', model: 'openai-compatible/test', path: '/v1/chat/completions', history: 'messages' },
  { wire: 'responses', model: 'openai/gpt-test', path: '/v1/responses', history: 'input' },
  { wire: 'messages', model: 'anthropic/claude-test', path: '/v1/messages', history: 'messages' },
];
/** A tool of the provider in each protocol, and what is left of the agent's own. */
const tools: Record<string, object[]> = {
  chat: [
    { type: 'web_search', name: 'search' },
    { type: 'function', function: { name: 'Bash', parameters: {} } },
  ],
  responses: [
    { type: 'web_search_preview' },
    { type: 'mcp', server_url: 'https://evil.example', server_label: 'x' },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'function', name: 'Bash', parameters: {} },
  ],
  messages: [
    { type: 'web_search_20250305', name: 'web_search' },
    { type: 'code_execution_20250522', name: 'x' },
    { name: 'Bash', input_schema: {} },
  ],
};
/** Fields that would make a call dearer, use another model, or make the provider act. */
const unwanted = {
  service_tier: 'priority',
  speed: 'fast',
  n: 2,
  models: ['other'],
  plugins: [{ id: 'web' }],
  web_search_options: {},
  functions: [{ name: 'f' }],
  mcp_servers: [{ type: 'url', url: 'https://evil.example' }],
  container: 'c',
  background: true,
  conversation: 'conv_1',
  unknown: 1,
};

describe.each(wires)('the model gate with $wire', ({ wire, model, path, history }) => {
  const createWorld = (steps: object[], options: Partial<ExternalWorldOptions>) =>
    createExternalWorld({ script: { turns: [steps] }, rulesets: withRules(), settings: { model }, ...options });

  async function runFake(steps: object[], options: Partial<ExternalWorldOptions>, brief: object = {}) {
    await using world = await createWorld(steps, options);
    const texts: string[] = [];
    world.runtime.listen((event) => event.type === 'delta' && texts.push(event.text));
    const run = await world.runtime.start({ task: 'go', agent: 'fake', ...brief });
    const outcome = await run.outcome;
    return { outcome, facts: world.facts, requests: world.provider?.requests ?? [], said: texts.join('') };
  }

  it.each([true, false])('records calls, results, tokens and cost, with the key added outside (streamed: %s)', async (stream) => {
    const steps = [{ title: 'a title?', wire }, { model: { wire, stream } }];
    const { outcome, facts, requests, said } = await runFake(steps, { answer: [say('A title'), bash('echo hi'), say('Done.')] });
    expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.', turns: 2, tokens: { input: 300, output: 30 } });
    expect(outcome.costUsd).toBeCloseTo((300 * 3 + 30 * 15) / 1e6, 9);
    expect(facts.filter(({ type }) => type === 'model.called')).toHaveLength(1);
    expect(facts.find((fact) => fact.type === 'tool.asked')?.data).toMatchObject({ tool: 'bash', arguments: { command: 'echo hi' } });
    expect(facts.find((fact) => fact.type === 'tool.finished')?.data).toMatchObject({ status: 'ok', output: 'hi\n' });
    const keys = requests.map(({ headers }) => headers['x-api-key'] ?? headers.authorization?.replace('Bearer ', ''));
    expect(keys).toEqual([realKey, realKey, realKey]);
    expect(said).not.toContain(realKey);
  });

  it.each([true, false])('keeps a denied call from the agent, and tells it why (streamed: %s)', async (stream) => {
    const answer = ({ n }: { n: number }) => (n === 1 ? bash('rm -rf precious') : say('I will not.'));
    const { outcome, facts, requests, said } = await runFake([{ model: { wire, stream } }], {
      answer,
      rulesets: withRules('deny bash:rm *'),
    });
    expect(outcome).toMatchObject({ status: 'completed', summary: 'I will not.' });
    expect(facts.find((fact) => fact.type === 'tool.finished')?.data).toMatchObject({ status: 'denied' });
    expect(said).toContain('denied: bash is not allowed');
    expect(JSON.stringify(requests[1]?.body[history])).toContain('Your call of bash: denied');
  });

  it('withholds an answer until it is durable', async () => {
    const store = createMemoryStore();
    const held = Promise.withResolvers<void>();
    let isHeld = false;
    const slow = {
      ...store,
      async append(...given: Parameters<typeof store.append>) {
        if (JSON.stringify(given).includes('model.answered')) {
          isHeld = true;
          await held.promise;
        }
        return store.append(...given);
      },
    };
    await using world = await createWorld([{ model: { wire } }], { store: slow, answer: [say('Done.')] });
    const texts: string[] = [];
    world.runtime.listen((event) => event.type === 'delta' && texts.push(event.text));
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    await expect.poll(() => isHeld).toBe(true);
    expect(texts).toEqual([]);
    held.resolve();
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
    expect(texts.join('')).toBe('Done.');
  });

  it.each([
    ['tokens', { maxTokens: 1500 }, 'max_tokens'],
    ['money', { maxCostUsd: 0.01 }, 'max_cost'],
    ['turns', { maxTurns: 2 }, 'max_turns'],
  ])('ends the run when its %s are spent', async (_, limits, code) => {
    const { outcome, requests } = await runFake([{ model: { wire } }], { answer: ({ n }) => bash(`echo ${n}`) }, { limits });
    expect(outcome).toMatchObject({ status: 'exhausted', terminated: code });
    expect(outcome.tokens.input + outcome.tokens.output).toBeLessThanOrEqual(1500);
    expect(outcome.turns).toBe(requests.length);
  });

  it('strips tools that the provider would execute and fields that it does not know', async () => {
    const body = { ...unwanted, tools: tools[wire] };
    const { outcome, requests } = await runFake([{ model: { wire, body } }], {
      answer: [say('Done.')],
      rulesets: withRules('deny websearch'),
    });
    expect(outcome).toMatchObject({ status: 'completed' });
    const sent = requests[0]?.body ?? {};
    expect(Object.keys(sent).filter((name) => name in unwanted)).toEqual([]);
    expect(sent.tools).toHaveLength(1);
    expect(JSON.stringify(sent.tools)).toContain('Bash');
    expect(sent.store ?? false).toBe(false);
  });

  it('serves one path, one model and one token, and lets the provider fetch nothing', async () => {
    const body = { model: model.split('/')[1], max_tokens: 5, [history]: [{ role: 'user', content: 'x' }] };
    const remote = {
      chat: { type: 'image_url', image_url: { url: 'https://evil.example/?secret' } },
      responses: { type: 'input_image', image_url: 'https://evil.example/?secret' },
      messages: { type: 'image', source: { type: 'url', url: 'https://evil.example/?secret' } },
    }[wire];
    const post = (more: object) => ({ http: { path, body, ...more } });
    const steps = [
      ...['/v1/files', '/v1/batches', `${path}/../models`, `${path}/x`].map((other) => post({ path: other })),
      post({ method: 'GET', body: undefined }),
      post({ body: { ...body, model: 'other' } }),
      post({ token: realKey }),
      post({ body: { ...body, [history]: [{ role: 'user', content: [remote] }] } }),
      { model: { wire } },
    ];
    const { said, requests, outcome } = await runFake(steps, { answer: [say('Done.')] });
    expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
    expect(said.match(/^404|(?<= )404/g)).toHaveLength(6);
    expect(said).toMatch(/401 /);
    expect(said).toMatch(/400 .*no addresses and no stored files/);
    expect(requests).toHaveLength(1);
  });

  it('does not pass on the key, even if the provider repeats it', async () => {
    const fault = { kind: 'status' as const, status: 401, message: `invalid key ${realKey}` };
    const { outcome, said } = await runFake([{ model: { wire } }], { answer: [{ fault }] });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'auth' } });
    expect(said).toContain('invalid key');
    expect(said + JSON.stringify(outcome)).not.toContain(realKey);
  });
});
