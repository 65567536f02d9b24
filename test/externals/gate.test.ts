// The model gate: budget, rules, tokens, key and network hold whatever the agent does. The provider is the fake one of the project.
import { describe, expect, it } from 'vitest';
import { parseRule } from '../../src/rules/policy.ts';
import type { ProviderStep } from '../../src/testing/provider-server.ts';
import { createExternalWorld, type ExternalWorldOptions, processesWith, realKey } from './support.ts';

const withRules = (...rules: string[]) => [{ kind: 'owner' as const, owner: 'test', rules: ['allow *', ...rules].map(parseRule) }];
const bash = (command: string): ProviderStep => ({ calls: [{ tool: 'Bash', args: { command } }], usage: { input: 100, output: 10 } });
const say = (text: string): ProviderStep => ({ text, usage: { input: 100, output: 10 } });
const useModel = { turns: [[{ model: {} }]] };

async function runFake(options: Partial<ExternalWorldOptions>, brief: object = {}) {
  await using world = await createExternalWorld({ script: useModel, answer: [say('Done.')], rulesets: withRules(), ...options });
  const run = await world.runtime.start({ task: 'go', agent: 'fake', ...brief });
  const outcome = await run.outcome;
  return { outcome, facts: world.facts.filter((fact) => fact.runId === run.id), requests: world.provider?.requests ?? [] };
}

describe('the model gate', () => {
  it('records calls, results and true tokens, and adds the key outside', async () => {
    const { outcome, facts, requests } = await runFake({ answer: [bash('echo hi'), say('Done.')] });
    expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.', turns: 2, tokens: { input: 200, output: 20 } });
    expect(outcome.costUsd).toBeCloseTo((200 * 3 + 20 * 15) / 1e6, 9);
    expect(outcome.notices?.join() ?? '').not.toContain('own login');
    expect(facts.map(({ type }) => type)).toEqual([
      ...['run.created', 'workspace.prepared', 'run.started', 'session.opened', 'session.prompted'],
      ...['model.asked', 'model.answered', 'tool.asked', 'tool.finished', 'model.asked', 'model.answered', 'workspace.saved', 'run.ended'],
    ]);
    expect(facts.find((fact) => fact.type === 'tool.asked')?.data).toMatchObject({ tool: 'bash', arguments: { command: 'echo hi' } });
    expect(facts.find((fact) => fact.type === 'tool.finished')?.data).toMatchObject({ status: 'ok', output: 'hi\n' });
    expect(requests.map(({ headers }) => headers['x-api-key'])).toEqual([realKey, realKey]);
  });

  it('passes on answers in one piece, and charges calls outside the conversation', async () => {
    const script = { turns: [[{ title: 'a title?' }, { model: { stream: false } }]] };
    const { outcome, facts } = await runFake({ script, answer: [say('A title'), say('Done.')] });
    expect(outcome).toMatchObject({ status: 'completed', turns: 1, tokens: { input: 200, output: 20 } });
    expect(facts.filter((fact) => fact.type === 'model.called')).toHaveLength(1);
  });

  it.each([true, false])('keeps a denied call from the agent, and tells it why (streamed: %s)', async (stream) => {
    const script = { turns: [[{ model: { stream } }]] };
    const answer = ({ n }: { n: number }) => (n === 1 ? bash('rm -rf precious') : say('I will not.'));
    const { outcome, facts, requests } = await runFake({ script, answer, rulesets: withRules('deny bash:rm *') });
    expect(outcome).toMatchObject({ status: 'completed', summary: 'I will not.' });
    expect(facts.find((fact) => fact.type === 'tool.finished')?.data).toMatchObject({ status: 'denied' });
    expect(JSON.stringify(requests[1]?.body)).toContain('Your call of bash: denied');
  });

  it('withholds an answer until a call is approved', async () => {
    await using world = await createExternalWorld({
      script: useModel,
      answer: [bash('echo hi'), say('Done.')],
      rulesets: withRules('ask bash'),
      options: { questions: { canAnswer: () => true } },
    });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    await expect.poll(() => world.types(run.id)).toContain('approval.asked');
    expect(world.provider?.requests).toHaveLength(1);
    const question = world.facts.find((fact) => fact.type === 'approval.asked');
    if (question?.type !== 'approval.asked') throw new Error('no question');
    const { turn, index, hash } = question.data;
    expect(await run.answer({ turn, index, hash }, { allowed: true, by: 'test' })).toBe(true);
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
  });

  it.each([
    ['tokens', { maxTokens: 1500 }, 'max_tokens'],
    ['money', { maxCostUsd: 0.01 }, 'max_cost'],
    ['turns', { maxTurns: 2 }, 'max_turns'],
  ])('ends the run when its %s are spent, although the agent calls that a success', async (_, limits, code) => {
    const answer = ({ n }: { n: number }) => bash(`echo ${n}`);
    const { outcome, requests } = await runFake({ answer }, { limits });
    expect(outcome).toMatchObject({ status: 'exhausted', terminated: code });
    expect(outcome.tokens.input + outcome.tokens.output).toBeLessThanOrEqual(1500);
    expect(outcome.costUsd).toBeLessThanOrEqual(0.02);
    expect(outcome.turns).toBe(requests.length);
  });

  it('refuses other paths, models and tokens, and strips tools that the provider would execute', async () => {
    const body = { model: 'claude-other', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] };
    const more = {
      tools: [
        { type: 'web_search_20250305', name: 'web_search' },
        { type: 'code_execution_20250522', name: 'x' },
        { name: 'Bash', input_schema: {} },
      ],
      mcp_servers: [{ type: 'url', url: 'https://evil.example' }],
    };
    const turns = [
      [
        { http: { path: '/v1/messages', body } },
        { http: { path: '/v1/files', body } },
        { http: { path: '/v1/models', method: 'GET' } },
        { http: { path: '/v1/messages', token: realKey, body } },
        { model: { body: more } },
      ],
    ];
    await using world = await createExternalWorld({ script: { turns }, answer: [say('Done.')], rulesets: withRules('deny websearch') });
    const texts: string[] = [];
    world.runtime.listen((event) => event.type === 'delta' && texts.push(event.text));
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    expect(await run.outcome).toMatchObject({ status: 'completed' });
    const said = texts.join('');
    expect(said).toMatch(/404 .*claude-other is not allowed/);
    expect(said).toMatch(/404 .*does not serve POST \/v1\/files/);
    expect(said).toMatch(/404 .*does not serve GET/);
    expect(said).toMatch(/401 /);
    expect(world.provider?.requests).toHaveLength(1);
    expect(world.provider?.requests[0]?.body).not.toHaveProperty('mcp_servers');
    expect(world.provider?.requests[0]?.body.tools).toEqual([expect.objectContaining({ name: 'Bash' })]);
  });

  it('takes the result from the call of the model', async () => {
    const submit = (n: unknown): ProviderStep => ({ calls: [{ tool: 'mcp__retinue__submit_result', args: { n } }] });
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const { outcome, facts } = await runFake({ answer: [submit('x'), submit(2), say('too late')] }, { result: { schema } });
    expect(outcome).toMatchObject({ status: 'completed', data: { n: 2 } });
    expect(facts.filter((fact) => fact.type === 'tool.finished').map(({ data }) => (data as { status: string }).status)).toEqual([
      'error',
      'ok',
    ]);
  });

  it('ends the run with the error of the provider', async () => {
    const fault = { kind: 'status' as const, status: 401, message: 'invalid key' };
    const { outcome } = await runFake({ answer: [{ fault }] });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'auth' } });
  });

  it('refuses a model without an address', async () => {
    const { outcome } = await runFake({ answer: [say('Done.')] }, { model: 'script/main' });
    expect(outcome.error?.message).toMatch(/cannot use the model script\/main: it has no address/);
  });
});

describe('a hostile agent in a sandbox', () => {
  it('has no key, no network and no other files, and still reaches the gate', async () => {
    const report =
      'ls -A "$HOME"; curl -s -m 3 http://192.0.2.1 || echo no-net; touch /etc/x /usr/x 2>&1; cat /proc/net/dev | tail -n +3 | cut -d: -f1';
    const script = { turns: [[{ env: true }, { report }, { model: {} }]] };
    await using world = await createExternalWorld({ script, answer: [say('Done.')], rulesets: withRules(), isConfined: true });
    const texts: string[] = [];
    world.runtime.listen((event) => event.type === 'delta' && texts.push(event.text));
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
    expect(outcome.notices).toBeUndefined();
    const said = texts.join('');
    expect(said).not.toContain(realKey);
    expect(said).toContain('no-net');
    expect(said).toMatch(/touch: .*\/etc\/x/);
    expect(said).toMatch(/touch: .*\/usr\/x/);
    expect(said.match(/^ *(eth|en|wl)\w*$/m)).toBeNull();
    expect(processesWith(world.state)).toEqual([]);
  });
});

describe('where no agent may be started', () => {
  it.each([
    ['a sandbox is required', { closed: 'a sandbox is required, but bubblewrap is not installed; install it' }, 'a sandbox is required'],
    ['the program is missing', {}, 'was not found'],
  ])('%s', async (_, externals, message) => {
    const agent = { runs: { acp: ['/nonexistent/agent'] } };
    const { outcome } = await runFake({ agent, externals });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'agent_program' } });
    expect(outcome.error?.message).toContain(message);
  });

  it('a known program is missing or too old', async () => {
    const agent = { runs: { program: 'claude' as const } };
    const { outcome } = await runFake({ agent, externals: { env: { PATH: '/nonexistent' } } });
    expect(outcome.error?.message).toMatch(/claude was not found; install it: `npm install -g/);
  });
});
