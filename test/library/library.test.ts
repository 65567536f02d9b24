// The library through its own door (source, not bundle): handles, events with a cursor, scopes, typed results.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MockLanguageModelV3, MockLanguageModelV4 } from 'ai/test';
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';
import { createGateClock } from '../support/gate-clock.ts';
import { serverIn } from '../support/mcp.ts';

const one = (...steps: object[]) => scriptedModel({ runs: [{ times: 'any', steps }] });

describe('MCP servers', () => {
  it('offer their tools to runs', async () => {
    const model = one({ calls: [{ tool: 'mcp__demo__echo', args: { text: 'hi' } }] }, { text: 'bye' });
    await using retinue = createRetinue({ model, mcpServers: { demo: serverIn() } });
    const run = await retinue.delegate({ task: 'work' });
    const outputs: string[] = [];
    for await (const event of run.events()) if (event.type === 'tool.finished') outputs.push(event.data.output);
    expect(outputs).toEqual(['you said: hi']);
  });

  it('with an invalid definition are rejected', () => {
    const make = (mcpServers: object) => () => createRetinue({ model: one({ text: 'x' }), mcpServers: mcpServers as never });
    expect(make({ Demo: { command: 'x' } })).toThrow(/`mcpServers\.Demo`: must be the name of a server/);
    expect(make({ demo: { command: 'x', url: 'http://x' } })).toThrow(/`mcpServers\.demo`: must have either/);
    expect(make({ demo: { url: 'x' } })).toThrow(/`mcpServers\.demo\.url`: must be an http/);
  });
});

describe('shared budgets', () => {
  it('limit everything that the program, a scope or a brief delegates', async () => {
    const usage = { input: 900, output: 100 };
    await using retinue = createRetinue({ model: one({ text: 'x', usage }), budgets: ['all'] });
    const limits = { tokens: 50_000, costUsd: null, per: 'total', timezone: 'UTC', whenExceeded: 'refuse' } as const;
    for (const name of ['all', 'scope', 'brief']) await retinue.api.setBudget({ name, ...limits });
    await using scope = retinue.scope({ budgets: ['scope'] });
    for (const delegating of [retinue, scope]) await (await delegating.delegate({ task: 'work', budgets: ['brief'] })).outcome;
    await (await retinue.delegate({ task: 'work' })).outcome;
    await scope.close();
    const spent = (await retinue.api.budgets()).map(({ name, spent: { tokens } }) => [name, tokens]);
    expect(Object.fromEntries(spent)).toEqual({ all: 3_000, scope: 1_000, brief: 2_000 });
    await expect(retinue.delegate({ task: 'work', budgets: ['brie'] })).rejects.toMatchObject({ code: 'unknown_budget' });
    expect(() => createRetinue({ model: one({ text: 'x' }), budgets: ['a b'] })).toThrow(/`budgets\.0`: must be 1 to 64/);
  });
});

describe('a run handle', () => {
  it('is available at once, and its outcome resolves even if the agent fails', async () => {
    await using retinue = createRetinue({ model: one({ text: '' }, { text: '' }) });
    const run = await retinue.delegate({ task: 'work' });
    expect(run.id).toMatch(/^[0-9a-f]{16}$/);
    expect(await run.outcome).toMatchObject({ status: 'failed', error: { code: 'empty' } });
  });

  it('is not created for a refused brief; the rejection says why', async () => {
    await using retinue = createRetinue({ model: one({ text: 'x' }) });
    await expect(retinue.delegate({ task: ' ' })).rejects.toMatchObject({ code: 'invalid_brief' });
    await expect(retinue.delegate({ task: 'x', agent: 'explor' })).rejects.toMatchObject({ code: 'unknown_agent' });
    await expect(retinue.delegate({ task: 'x', limits: { maxTurns: 0 } })).rejects.toMatchObject({ code: 'invalid_limit' });
    await expect(retinue.delegate({ task: 'x', limits: { timeoutMs: 2 ** 31 } })).rejects.toMatchObject({ code: 'invalid_limit' });
    await expect(retinue.delegate({ task: 'x', tools: { allow: ['raed'] } })).rejects.toMatchObject({ code: 'unknown_tool' });
  });

  it('streams facts and deltas in order, and continues from a cursor', async () => {
    await using retinue = createRetinue({
      model: one({ text: 'hello there', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'bye' }),
    });
    const run = await retinue.delegate({ task: 'work' });
    const types: string[] = [];
    let cursor = '';
    let said = '';
    for await (const event of run.events()) {
      types.push(event.type);
      if (event.type === 'delta') said += event.kind === 'text' ? event.text : '';
      else if (event.type === 'tool.asked') cursor = event.position;
    }
    const facts = types.filter((type) => type !== 'delta');
    expect(facts).toEqual([
      'run.created',
      'run.started',
      'model.asked',
      'model.answered',
      'tool.asked',
      'tool.finished',
      'model.asked',
      'model.answered',
      'run.ended',
    ]);
    expect(said).toContain('bye');
    const rest: string[] = [];
    for await (const event of run.events({ after: cursor })) rest.push(event.type);
    expect(rest).toEqual(['tool.finished', 'model.asked', 'model.answered', 'run.ended']);
  });

  it('can send messages and cancel', async () => {
    const clock = createGateClock();
    const steps = [
      { delayMs: 1, calls: [{ tool: 'list', args: { path: '.' } }] },
      { expect: { prompt: 'also the tests' }, text: 'both' },
    ];
    await using retinue = createRetinue({ model: scriptedModel({ runs: [{ steps }] }, { clock }) });
    const run = await retinue.delegate({ task: 'work' });
    for await (const event of run.events()) if (event.type === 'model.asked') break;
    await run.send('also the tests');
    clock.open();
    expect((await run.outcome).summary).toBe('both');
    await expect(run.send('too late')).rejects.toMatchObject({ code: 'parent_ended' });
    await using other = createRetinue({ model: one({ hang: 'start' }) });
    const endless = await other.delegate({ task: 'work' });
    await endless.cancel('enough');
    expect(await endless.outcome).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
  });
});

describe('typed results', () => {
  it('have the type of the schema, and refinements are checked while the agent works', async () => {
    const Even = z.object({ n: z.number().refine((n) => n % 2 === 0, 'must be even') });
    const submit = (n: number) => ({ calls: [{ tool: 'submit_result', args: { n } }] });
    await using retinue = createRetinue({ model: one(submit(3), { expect: { prompt: 'must be even' }, ...submit(4) }) });
    const { data, status } = await (await retinue.delegate({ task: 'count', result: Even })).outcome;
    expectTypeOf(data).toEqualTypeOf<{ n: number } | undefined>();
    expect([status, data]).toEqual(['completed', { n: 4 }]);
  });
});

describe('schemas of results', () => {
  const submit = (n: unknown) => ({ calls: [{ tool: 'submit_result', args: { n } }] });

  it('may wait, and give the outcome their own value', async () => {
    const Large = z.object({ n: z.number().refine(async (n) => n > 100, 'too small') }).transform(({ n }) => ({ large: n }));
    await using retinue = createRetinue({ model: one(submit(3), { expect: { prompt: 'too small' }, ...submit(400) }) });
    const run = await retinue.delegate({ task: 'count', result: Large });
    const { data, status } = await run.outcome;
    expectTypeOf(data).toEqualTypeOf<{ large: number } | undefined>();
    expect([status, data]).toEqual(['completed', { large: 400 }]);
    for await (const event of run.events()) if (event.type === 'run.ended') expect(event.data.outcome.data).toEqual({ n: 400 });
  });

  it('that no longer accept the result make the outcome a failure', async () => {
    let calls = 0;
    const Once = z.object({ n: z.number() }).refine(() => ++calls === 1, 'only once');
    await using retinue = createRetinue({ model: one(submit(1)) });
    const outcome = await (await retinue.delegate({ task: 'count', result: Once })).outcome;
    expect(outcome).toMatchObject({ status: 'failed', success: false, error: { code: 'result_invalid' } });
    expect(outcome.error?.message).toMatch(/only once/);
    expect(outcome.data).toBeUndefined();
  });

  it('that have no JSON Schema are refused with the field', async () => {
    await using retinue = createRetinue({ model: one({ text: 'x' }) });
    const refusal = retinue.delegate({ task: 'x', result: z.object({ list: z.array(z.object({ at: z.date() })) }) });
    await expect(refusal).rejects.toMatchObject({ code: 'invalid_brief', message: expect.stringMatching(/^result\.list\.\[\]\.at: Date/) });
  });
});

describe('models of the AI SDK', () => {
  const stream = (parts: object[]) => ({ stream: ReadableStream.from(parts) });
  const text = [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'hi' },
    { type: 'text-end', id: '0' },
  ];
  const flat = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
  const deep = { inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 2, text: 2, reasoning: 0 } };
  const reason = { unified: 'stop', raw: 'stop' };
  // biome-ignore lint/suspicious/noExplicitAny: the mocks of three versions have three types
  const cases: [string, any][] = [
    [
      'V2',
      {
        specificationVersion: 'v2',
        provider: 'mock',
        modelId: 'old',
        supportedUrls: {},
        doStream: async () => stream([...text, { type: 'finish', finishReason: 'stop', usage: flat }]) as never,
      },
    ],
    [
      'V3',
      new MockLanguageModelV3({ doStream: async () => stream([...text, { type: 'finish', finishReason: reason, usage: deep }]) as never }),
    ],
    [
      'V4',
      new MockLanguageModelV4({ doStream: async () => stream([...text, { type: 'finish', finishReason: reason, usage: deep }]) as never }),
    ],
  ];
  it.each(cases)('%s can be used as they are', async (_, model) => {
    await using retinue = createRetinue({ model });
    expect(await (await retinue.delegate({ task: 'say hi' })).outcome).toMatchObject({
      status: 'completed',
      summary: 'hi',
      tokens: { input: 3, output: 2 },
    });
  });
});

it('an unknown price is a warning of the process, once per model, which says what `prices` names', async () => {
  const warnings: string[] = [];
  const listen = ({ name, message }: Error) => name === 'RetinueWarning' && warnings.push(message);
  process.on('warning', listen);
  const finishReason = { unified: 'stop' as const, raw: 'stop' };
  const usage = { inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 2, text: 2, reasoning: 0 } };
  const model = new MockLanguageModelV4({
    provider: 'work',
    modelId: 'big',
    doGenerate: async () => ({ content: [{ type: 'text', text: 'hi' }], finishReason, usage, warnings: [] }),
  });
  await using retinue = createRetinue({ model, prices: { 'wrk/big': { input: 1, output: 1 } } });
  for (const task of ['one', 'two']) await (await retinue.delegate({ task })).outcome;
  await new Promise(setImmediate);
  process.off('warning', listen);
  expect(warnings).toEqual([expect.stringMatching(/^the price of work\/big is unknown.*names only wrk\/big$/)]);
});

describe('what a program loads', () => {
  it('includes node:sqlite only with its store', async () => {
    const loads = async (door: string) => {
      const code = `await import('retinue${door}'); console.log(process.moduleLoadList.some((name) => / sqlite$/.test(name)))`;
      return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])).stdout.trim();
    };
    expect([await loads(''), await loads('/sqlite')]).toEqual(['false', 'true']);
  });

  it('has lines, so that an uncaught error prints one of them and not the whole file', async () => {
    const code = `const { createRetinue } = await import('retinue'); await createRetinue({ model: 'foo' }).delegate({ task: 'x' })`;
    const failure = promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
    const { stderr } = await failure.catch((error: { stderr: string }) => error);
    expect(stderr).toContain('unknown model "foo"');
    expect(stderr.length).toBeLessThan(5_000);
  });
});

describe('a scope', () => {
  it('is one client run, and nothing outlives it', async () => {
    const store = createMemoryStore();
    const retinue = createRetinue({ model: one({ hang: 'start' }), store });
    const stop = new AbortController();
    const scope = retinue.scope({ label: 'mine', signal: stop.signal });
    const run = await scope.delegate({ task: 'work' });
    stop.abort();
    expect(await run.outcome).toMatchObject({ status: 'cancelled', depth: 1 });
    await scope.close();
    const rows = await store.runs({ order: 'oldest' });
    expect(rows.map((row) => `${row.kind} ${row.status}`)).toEqual(['client completed', 'agent cancelled']);
    await expect(scope.delegate({ task: 'more' })).rejects.toMatchObject({ code: 'parent_ended' });
    await retinue.close();
  });

  it.each([
    ['a text', 'the user closed the page', ': the user closed the page'],
    ['an error', new Error('the request is over'), ': the request is over'],
    ['no reason', undefined, ''],
    ['what says nothing', { code: 7 }, ''],
  ])('ends its runs with the reason of the abort: %s', async (_, reason, expected) => {
    await using retinue = createRetinue({ model: one({ hang: 'start' }) });
    const stop = new AbortController();
    const scope = retinue.scope({ signal: stop.signal });
    const run = await scope.delegate({ task: 'work' });
    stop.abort(reason);
    const error = { code: 'cancelled', message: `the scope that delegated it was aborted${expected}` };
    expect(await run.outcome).toMatchObject({ status: 'cancelled', error });
    const refused = { code: 'parent_ended', message: `nothing more can be delegated: this scope was aborted${expected}` };
    await expect(scope.delegate({ task: 'more' })).rejects.toMatchObject(refused);
    await expect(retinue.scope({ signal: stop.signal }).delegate({ task: 'more' })).rejects.toMatchObject(refused);
  });

  it('removes secrets from the reason of an abort, and everything below a run ends with it', async () => {
    const secret = 'sk-test-0123456789abcdef0123456789';
    vi.stubEnv('ANTHROPIC_API_KEY', secret);
    onTestFinished(() => void vi.unstubAllEnvs());
    const model = scriptedModel({
      runs: [
        { when: { task: 'top' }, steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'sub' }] } }] }] },
        { when: { task: 'sub' }, steps: [{ hang: 'start' }] },
      ],
    });
    await using retinue = createRetinue({ model });
    const stop = new AbortController();
    const scope = retinue.scope({ limits: { maxDepth: 2 }, signal: stop.signal });
    const run = await scope.delegate({ task: 'top' });
    const isSub = (event: { type: string; runId?: string }) => event.type === 'model.asked' && event.runId !== run.id;
    for await (const event of run.events({ tree: true })) if (isSub(event)) break;
    stop.abort(`no more of ${secret}`);
    const { error } = await run.outcome;
    expect(error?.message).toMatch(/^the scope that delegated it was aborted: no more of \[[^\]]*\]$/);
    const ended = (await retinue.api.ps({ all: true })).filter(({ kind }) => kind === 'agent');
    const outcomes = await Promise.all(ended.map(async ({ runId }) => (await retinue.api.show(runId)).outcome?.error?.message));
    expect(outcomes).toEqual([error?.message, error?.message]);
  });

  it('returns all outcomes in the order of the briefs, including refusals', async () => {
    await using retinue = createRetinue({ model: one({ text: 'ok' }) });
    await using scope = retinue.scope();
    const settled = await scope.all([{ task: 'a' }, { task: 'b', agent: 'nobody' }, { task: 'c' }], { concurrency: 2 });
    expect(settled.map((each) => (each.status === 'fulfilled' ? each.value.status : each.reason.code))).toEqual([
      'completed',
      'unknown_agent',
      'completed',
    ]);
  });

  it('has its own limits', async () => {
    await using retinue = createRetinue({ model: one({ text: 'ok', usage: { input: 5000, output: 0 } }) });
    await using scope = retinue.scope({ limits: { maxTokens: 6000 } });
    const [a, b] = await scope.all([{ task: 'a' }, { task: 'b' }], { concurrency: 1 });
    expect([a, b].map((each) => (each?.status === 'fulfilled' ? each.value.status : null))).toEqual(['completed', 'exhausted']);
  });

  it('has a number of runs for all its delegations together, and a brief has one for its own tree', async () => {
    const delegates = { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'sub' }, { task: 'sub' }] } }] };
    const model = scriptedModel({
      runs: [
        { when: { task: 'top' }, times: 'any', steps: [delegates, { text: 'x' }] },
        { times: 'any', steps: [{ text: 'x' }] },
      ],
    });
    await using retinue = createRetinue({ model });
    await using scope = retinue.scope({ limits: { maxRuns: 4, maxDepth: 2 } });
    await (await scope.delegate({ task: 'top', limits: { maxRuns: 2 } })).outcome;
    const count = async () => (await retinue.api.ps({ all: true })).filter(({ kind }) => kind === 'agent').length;
    expect(await count()).toBe(2);
    await (await scope.delegate({ task: 'one' })).outcome;
    await (await scope.delegate({ task: 'top' })).outcome;
    expect(await count()).toBe(4);
    await expect(scope.delegate({ task: 'one' })).rejects.toMatchObject({ code: 'max_runs', message: expect.stringMatching(/^4 runs/) });
    await (await retinue.delegate({ task: 'one' })).outcome;
  });

  it('cancels what a tool call started when that call is aborted', async () => {
    await using retinue = createRetinue({ model: one({ hang: 'start' }) });
    await using scope = retinue.scope();
    const stop = new AbortController();
    const result = scope.tools().delegate?.execute({ tasks: [{ task: 'x' }] }, { abortSignal: stop.signal });
    setImmediate(() => setImmediate(() => stop.abort('the user pressed Escape')));
    expect(await result).toContain('the call that delegated it was cancelled: the user pressed Escape');
  });
});
