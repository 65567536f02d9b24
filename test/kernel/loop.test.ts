// The loop through the runtime: what models, tools and providers do wrong, and how a run handles it.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { FactOf, FactType } from '../../src/contract/fact.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { createMemoryNotes } from '../../src/stores/notes-memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

const steps = (...list: object[]) => ({ runs: [{ steps: list }] });

async function runOnce(options: WorldOptions, brief: object = {}) {
  const world = await createWorld(options);
  try {
    const outcome = await (await world.runtime.start({ task: 'work', ...brief })).outcome;
    return { outcome, world };
  } finally {
    await world[Symbol.asyncDispose]();
  }
}

function factsOf<T extends FactType>(world: World, type: T): FactOf<T>[] {
  return world.facts.filter((fact) => fact.type === type) as FactOf<T>[];
}

function tool(name: string, execute: AnyTool['execute'], more: Partial<AnyTool> = {}): AnyTool {
  return {
    name,
    description: name,
    input: z.strictObject({ n: z.number().optional() }),
    readOnly: true,
    idempotent: true,
    subjects: () => [],
    execute,
    ...more,
  };
}
const general = (name: string) => ({ tools: { allow: [name] }, agent: 'any' });
const anyAgent = { name: 'any', description: '', prompt: 'You work.', source: 'test' };

describe('a run that succeeds', () => {
  it('ends completed with the last text, its turns, tokens and cost', async () => {
    const { outcome } = await runOnce({
      script: {
        model: { price: { input: 1000, output: 1000 } },
        ...steps(
          { text: 'first', calls: [{ tool: 'list', args: { path: '.' } }], usage: { input: 10, output: 5 } },
          { text: 'second', usage: { input: 20, output: 5 } },
        ),
      },
    });
    expect(outcome).toMatchObject({ status: 'completed', success: true, summary: 'second', turns: 2, error: null, terminated: null });
    expect(outcome.tokens).toEqual({ input: 30, output: 10, cached: 0, reasoning: 0 });
    expect(outcome.costUsd).toBeCloseTo(0.04);
    expect(Object.keys(outcome)).toEqual([
      'runId',
      'parentId',
      'rootId',
      'depth',
      'label',
      'agent',
      'status',
      'success',
      'verified',
      'summary',
      'artifacts',
      'error',
      'terminated',
      'truncated',
      'turns',
      'tokens',
      'costUsd',
      'startedAt',
      'endedAt',
      'durationMs',
    ]);
  });

  it('returns the text of all turns in mode full', async () => {
    const { outcome } = await runOnce(
      { script: steps({ text: 'one', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'two' }) },
      { result: { mode: 'full' } },
    );
    expect(outcome.summary).toBe('one\ntwo');
  });

  it('sends a second prompt for the summary', async () => {
    const { outcome, world } = await runOnce(
      { script: steps({ text: 'long story' }, { expect: { prompt: 'in one word' }, text: 'short' }) },
      { result: { prompt: 'say it in one word' } },
    );
    expect(outcome).toMatchObject({ status: 'completed', summary: 'short', turns: 1 });
    expect(factsOf(world, 'model.asked').map((fact) => fact.data.purpose)).toEqual(['turn', 'summary']);
  });

  it('records artifacts of tools', async () => {
    const { outcome } = await runOnce({
      script: steps({ calls: [{ tool: 'write', args: { path: 'a.txt', content: 'hi' } }] }, { text: 'written' }),
    });
    expect(outcome.artifacts[0]).toEqual({ kind: 'path', value: 'a.txt', title: 'created', bytes: 2 });
    expect(outcome.artifacts[1]).toMatchObject({ kind: 'diff', title: 'a.txt', value: expect.stringContaining('+hi') });
  });

  it('begins with one system and one user message, and the conversation only grows', async () => {
    const { world } = await runOnce(
      { script: steps({ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'x' }), files: { 'AGENTS.md': 'Use tabs.' } },
      { context: 'the context', files: ['AGENTS.md', 'missing.txt'] },
    );
    const [started] = factsOf(world, 'run.started');
    expect(started?.data.first).toContain('the context');
    expect(started?.data.first).toContain('Use tabs.');
    expect(started?.data.first).toContain('missing.txt\n(could not be read');
    const asked = factsOf(world, 'model.asked');
    expect(asked[0]?.data.upTo).toBeLessThan(asked[1]?.data.upTo as number);
    expect(asked[0]?.data.request).not.toBe(asked[1]?.data.request);
  });
});

describe('memories', () => {
  it('are in the first message if the brief asks for them', async () => {
    const { memories } = createMemoryNotes();
    const clock = createHandClock();
    const world = await createWorld({ clock, memories, script: { runs: [{ times: 'any', steps: [{ text: 'ok' }] }] } });
    await memories.put(world.workspace, { title: 'tests', text: 'run with npm test', at: '2026-01-01T00:00:00.000Z' });
    await (await world.runtime.start({ task: 'work', inheritMemories: true })).outcome;
    await (await world.runtime.start({ task: 'work' })).outcome;
    const [told, plain] = factsOf(world, 'run.started').map((fact) => fact.data.first);
    expect(told).toContain('**tests**: run with npm test');
    expect(plain).toBe('work');
    await world[Symbol.asyncDispose]();
  });
});

describe('a model that misbehaves', () => {
  it('is nudged once for an empty answer; then the run fails with `empty`', async () => {
    expect((await runOnce({ script: steps({ text: '' }, { expect: { prompt: 'empty' }, text: 'sorry' }) })).outcome).toMatchObject({
      status: 'completed',
      summary: 'sorry',
    });
    expect((await runOnce({ script: steps({ text: '' }, { text: ' ' }) })).outcome).toMatchObject({
      status: 'failed',
      success: false,
      error: { code: 'empty' },
    });
  });

  it('counts an answer of invisible characters as empty', async () => {
    const nothing = { text: ' \n\u200b\u2060\u2028 ' };
    expect((await runOnce({ script: steps(nothing, { expect: { prompt: 'empty' }, text: 'a\u200b' }) })).outcome.status).toBe('completed');
    expect((await runOnce({ script: steps(nothing, nothing) })).outcome).toMatchObject({ status: 'failed', error: { code: 'empty' } });
  });

  it('gets the nearest name for an unknown tool', async () => {
    const { outcome, world } = await runOnce({
      script: steps({ calls: [{ tool: 'raed', args: { path: 'a' } }] }, { expect: { prompt: 'did you mean `read`' }, text: 'ok' }),
    });
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'tool.asked')[0]?.data.rejected).toBe('unknown');
  });

  it.each([
    ['truncated', '{"path": "a'],
    ['trailing prose', '{"path": "a"} and so on'],
    ['NaN', '{"path": NaN}'],
    ['keys twice', '{"path": "a", "path": "b"}'],
    ['wrong type', '{"path": 7}'],
    ['unknown key', '{"path": "a", "force": true}'],
    ['no object', '[1]'],
    ['nested too deep', `{"path": ${'['.repeat(100)}${']'.repeat(100)}}`],
    ['nested deeper than the stack', `{"path": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('gets an error for malformed arguments (%s)', async (_, raw) => {
    const { outcome, world } = await runOnce({ script: steps({ calls: [{ tool: 'read', raw }] }, { text: 'ok' }) });
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'tool.asked')[0]?.data.rejected).toBe('malformed');
    expect(factsOf(world, 'tool.finished')[0]?.data.status).toBe('error');
  });

  it('fails the run after three repairs of malformed arguments', async () => {
    const wrong = (n: number) => ({ calls: [{ tool: 'read', raw: `{"path": ${n}` }] });
    const { outcome } = await runOnce({ script: steps(wrong(1), wrong(2), wrong(3), wrong(4)) });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'malformed' }, turns: 4 });
  });

  it('gets the second of two calls with the same id refused', async () => {
    const made: number[] = [];
    const count = tool('count', async () => ({ output: String(made.push(1)) }));
    const { world } = await runOnce(
      {
        tools: [count],
        agents: [anyAgent],
        script: steps(
          {
            calls: [
              { tool: 'count', args: { n: 1 }, id: 'x' },
              { tool: 'count', args: { n: 2 }, id: 'x' },
            ],
          },
          { text: 'ok' },
        ),
      },
      general('count'),
    );
    expect(made).toHaveLength(1);
    expect(factsOf(world, 'tool.asked').map((fact) => fact.data.rejected)).toEqual([null, 'duplicate']);
    const ids = factsOf(world, 'model.answered')[0]?.data.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []));
    expect(new Set(ids).size).toBe(2);
  });

  it('may use the same id again in a later turn', async () => {
    const call = (n: number) => ({ calls: [{ tool: 'list', args: { path: n === 1 ? '.' : './.' }, id: 'call_0' }] });
    expect((await runOnce({ script: steps(call(1), call(2), { text: 'ok' }) })).outcome.status).toBe('completed');
  });

  it('loses calls beyond the maximum of one answer, and reads that', async () => {
    const calls = Array.from({ length: 10_000 }, (_, n) => ({ tool: 'count', args: { n } }));
    const count = tool('count', async () => ({ output: 'x' }));
    const { outcome, world } = await runOnce(
      { tools: [count], agents: [anyAgent], script: steps({ calls }, { expect: { prompt: 'the last 9936 were not made' }, text: 'ok' }) },
      general('count'),
    );
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'tool.asked')).toHaveLength(64);
  });

  it('gets the fourth identical call in a row refused, and the run fails at the eighth', async () => {
    const same = { calls: [{ tool: 'list', args: { path: '.' } }] };
    const { outcome, world } = await runOnce({ script: steps(...Array.from({ length: 8 }, () => same)) });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'loop' }, terminated: 'loop', turns: 8 });
    expect(factsOf(world, 'tool.asked').map((fact) => fact.data.rejected)).toEqual([null, null, null, ...Array(5).fill('repeated')]);
  });

  it('is stopped if it repeats a cycle of calls', async () => {
    const a = { calls: [{ tool: 'list', args: { path: '.' } }] };
    const b = { calls: [{ tool: 'list', args: { path: './' } }] };
    const { outcome } = await runOnce({ script: steps(...Array.from({ length: 8 }, () => [a, b]).flat()) });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'loop' } });
  });

  it('is asked again if its answer was cut, and the run fails if a content filter stopped it', async () => {
    expect(
      (await runOnce({ script: steps({ text: 'half', finish: 'length' }, { expect: { prompt: 'cut off' }, text: 'whole' }) })).outcome
        .summary,
    ).toBe('whole');
    expect((await runOnce({ script: steps({ text: 'half', finish: 'content-filter' }) })).outcome).toMatchObject({
      status: 'failed',
      error: { code: 'refused' },
      summary: 'half',
    });
  });
});

describe('tools that misbehave', () => {
  it('return an error to the model if they throw', async () => {
    const bad = tool('bad', async () => {
      throw new Error('broken');
    });
    const { outcome } = await runOnce(
      {
        tools: [bad],
        agents: [anyAgent],
        script: steps({ calls: [{ tool: 'bad' }] }, { expect: { prompt: 'bad failed: broken' }, text: 'ok' }),
      },
      general('bad'),
    );
    expect(outcome.status).toBe('completed');
  });

  it('are abandoned if they hang and ignore their signal', async () => {
    const clock = createHandClock();
    const hang = tool('hang', () => new Promise(() => {}));
    const world = await createWorld({
      clock,
      tools: [hang],
      agents: [anyAgent],
      script: steps({ calls: [{ tool: 'hang' }] }, { expect: { prompt: 'longer than 1000 ms' }, text: 'ok' }),
    });
    const run = await world.runtime.start({ task: 'work', ...general('hang'), limits: { toolTimeoutMs: 1000 } });
    await clock.advance(10_000);
    expect((await run.outcome).status).toBe('completed');
    expect(factsOf(world, 'tool.finished')[0]?.data.status).toBe('timeout');
    expect(world.runtime.stats()).toMatchObject({ active: 0, timers: 0, runs: 0 });
    await world[Symbol.asyncDispose]();
  });

  it('with 200 MB of output: head and tail are kept, and the missing part is named', { timeout: 240_000 }, async () => {
    const flood = tool('flood', async () => ({ output: `HEAD${'x'.repeat(200 * 1024 * 1024)}TAIL` }));
    const { world } = await runOnce(
      {
        tools: [flood],
        agents: [anyAgent],
        script: steps({ calls: [{ tool: 'flood' }] }, { expect: { prompt: 'bytes left out' }, text: 'ok' }),
      },
      general('flood'),
    );
    const [finished] = factsOf(world, 'tool.finished');
    expect(finished?.data.output.length).toBeLessThan(60_000);
    expect(finished?.data.output.startsWith('HEAD')).toBe(true);
    expect(finished?.data.output.endsWith('TAIL')).toBe(true);
    expect(finished?.data.truncated?.originalBytes).toBe(200 * 1024 * 1024 + 8);
  });

  it('run at the same time if they read, and in order if they change something', async () => {
    const order: string[] = [];
    let both = 0;
    const reader = tool('reader', async () => {
      both++;
      await new Promise((resolve) => setImmediate(resolve));
      return { output: String(both) };
    });
    const writer = tool(
      'writer',
      async (input) => {
        order.push(`begin ${input.n}`);
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`end ${input.n}`);
        return { output: 'ok' };
      },
      { readOnly: false },
    );
    const calls = [
      { tool: 'reader', args: { n: 1 } },
      { tool: 'writer', args: { n: 1 } },
      { tool: 'reader', args: { n: 2 } },
      { tool: 'writer', args: { n: 2 } },
    ];
    const { world } = await runOnce(
      { tools: [reader, writer], agents: [anyAgent], script: steps({ calls }, { text: 'ok' }) },
      { agent: 'any' },
    );
    expect(order).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2']);
    const results = factsOf(world, 'tool.finished').filter((fact) => fact.data.output === '2');
    expect(results).toHaveLength(2);
  });
});

describe('limits of a run', () => {
  it('turns: the run writes a final answer and is exhausted', async () => {
    const call = (n: number) => ({ text: `step ${n}`, calls: [{ tool: 'list', args: { path: './'.repeat(n) } }] });
    const { outcome, world } = await runOnce(
      {
        script: steps(call(1), call(2), {
          expect: { prompt: 'limit of turns' },
          text: 'so far',
          calls: [{ tool: 'list', args: { path: '.' } }],
        }),
      },
      { limits: { maxTurns: 2 } },
    );
    expect(outcome).toMatchObject({
      status: 'exhausted',
      success: false,
      summary: 'so far',
      terminated: 'max_turns',
      turns: 2,
      error: { code: 'max_turns' },
    });
    expect(factsOf(world, 'tool.asked')).toHaveLength(2);
    expect(factsOf(world, 'model.asked').at(-1)?.data).toMatchObject({ purpose: 'wrap-up', cause: 'max_turns' });
  });

  it('turns: the run stays exhausted with its best text if the final answer is empty or fails', async () => {
    const call = { text: 'partial', calls: [{ tool: 'list', args: { path: '.' } }] };
    expect((await runOnce({ script: steps(call, { text: '' }) }, { limits: { maxTurns: 1 } })).outcome).toMatchObject({
      status: 'exhausted',
      summary: 'partial',
    });
    expect(
      (await runOnce({ script: steps(call, { error: { status: 400, message: 'no' } }) }, { limits: { maxTurns: 1 } })).outcome,
    ).toMatchObject({ status: 'exhausted', summary: 'partial' });
  });

  it('tokens and cost: the run is exhausted, with a final answer if it fits', async () => {
    const call = (n: number) => ({
      text: `step ${n}`,
      calls: [{ tool: 'list', args: { path: './'.repeat(n) } }],
      usage: { input: 4000, output: 500 },
    });
    const many = Array.from({ length: 8 }, (_, n) => call(n + 1));
    const tokens = await runOnce(
      { script: steps(call(1), call(2), { text: 'last', usage: { input: 1000, output: 10 } }) },
      { limits: { maxTokens: 12_000 } },
    );
    expect(tokens.outcome).toMatchObject({ status: 'exhausted', terminated: 'max_tokens', summary: 'last' });
    const money = await runOnce(
      {
        script: {
          model: { price: { input: 100, output: 100 } },
          ...steps(...many.slice(0, 2), { text: 'last', usage: { input: 1000, output: 10 } }),
        },
      },
      { limits: { maxCostUsd: 1.2 } },
    );
    expect(money.outcome).toMatchObject({ status: 'exhausted', terminated: 'max_cost', summary: 'last' });
    const nothing = await runOnce({ script: steps() }, { limits: { maxTokens: 1 } });
    expect(nothing.outcome).toMatchObject({ status: 'exhausted', terminated: 'max_tokens', summary: '', turns: 0 });
  });

  it('deadline: the run times out with the text so far', async () => {
    const clock = createHandClock();
    const world = await createWorld({ clock, script: steps({ text: 'a beginning of something', hang: 'middle' }) });
    const run = await world.runtime.start({ task: 'work', limits: { timeoutMs: 5000 } });
    await clock.advance(4999);
    expect(world.runtime.stats().runs).toBe(1);
    await clock.advance(1);
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ status: 'timed_out', terminated: 'deadline', error: { code: 'deadline' }, durationMs: 5000 });
    expect('a beginning of something'.startsWith(outcome.summary)).toBe(true);
    expect(clock.pending()).toBe(0);
    await world[Symbol.asyncDispose]();
  });

  it('deadline: it does not move if the wall clock jumps', async () => {
    const clock = createHandClock();
    const world = await createWorld({ clock, script: steps({ hang: 'start' }) });
    const run = await world.runtime.start({ task: 'work', limits: { timeoutMs: 5000 } });
    await clock.advance(1000);
    clock.jump(3_600_000);
    await clock.advance(3000);
    expect(world.runtime.stats().runs).toBe(1);
    clock.jump(-7_200_000);
    await clock.advance(1000);
    expect(await run.outcome).toMatchObject({ status: 'timed_out' });
    await world[Symbol.asyncDispose]();
  });
});

describe('a provider that fails', () => {
  it('is retried after 429 with its Retry-After, and other runs of the lane wait too', async () => {
    const clock = createHandClock();
    const limited = steps({ error: { status: 429, message: 'slow down', retryAfterMs: 5000 } }, { text: 'ok' });
    const world = await createWorld({ clock, scripts: { limited, other: steps({ text: 'ok' }) } });
    const a = await world.runtime.start({ task: 'a', model: 'script/limited' });
    await clock.advance(0);
    const b = await world.runtime.start({ task: 'b', model: 'script/other' });
    await clock.advance(4000);
    expect(factsOf(world, 'model.asked')).toHaveLength(1);
    await clock.advance(3000);
    expect((await a.outcome).status).toBe('completed');
    expect((await b.outcome).status).toBe('completed');
    expect(factsOf(world, 'model.failed')[0]?.data).toMatchObject({ again: true, error: { code: 'rate_limited' } });
    await world[Symbol.asyncDispose]();
  });

  it('ends in a typed failure if it keeps failing', async () => {
    const clock = createHandClock();
    const world = await createWorld({ clock, script: steps({ error: { status: 500, message: 'down' }, repeat: 6 }) });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(300_000);
    expect(await run.outcome).toMatchObject({ status: 'failed', error: { code: 'provider', retryable: true } });
    expect(factsOf(world, 'model.failed').map((fact) => fact.data.again)).toEqual([true, true, true, true, true, false]);
    await world[Symbol.asyncDispose]();
  });

  it.each([
    [401, 'auth'],
    [403, 'auth'],
    [400, 'bad_request'],
  ])('is not retried after %i', async (status, code) => {
    const { outcome, world } = await runOnce({ script: steps({ error: { status, message: 'no' } }) });
    expect(outcome).toMatchObject({ status: 'failed', error: { code, retryable: false } });
    expect(factsOf(world, 'model.asked')).toHaveLength(1);
  });

  it('does not wait for a Retry-After past the deadline', async () => {
    const { outcome } = await runOnce(
      { script: steps({ error: { status: 429, message: 'quota', retryAfterMs: 60_000 } }) },
      { limits: { timeoutMs: 30_000 } },
    );
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'rate_limited' } });
    expect(outcome.durationMs).toBeLessThan(10_000);
  });

  it.each([
    ['start', 'firstByteMs'],
    ['middle', 'idleMs'],
  ])('is abandoned if it goes silent (%s)', async (hang, limit) => {
    const clock = createHandClock();
    const world = await createWorld({ clock, script: steps({ text: 'some text', hang }, { text: 'ok' }) });
    const run = await world.runtime.start({ task: 'work', limits: { [limit]: 1000 } });
    await clock.advance(60_000);
    expect((await run.outcome).status).toBe('completed');
    expect(factsOf(world, 'model.failed')[0]?.data.error.code).toBe('provider_timeout');
    await world[Symbol.asyncDispose]();
  });

  it('never causes a tool call of an interrupted answer', async () => {
    const made: number[] = [];
    const count = tool('count', async () => ({ output: String(made.push(1)) }));
    const clock = createHandClock();
    const world = await createWorld({
      clock,
      tools: [count],
      agents: [anyAgent],
      script: steps({ calls: [{ tool: 'count' }], finish: 'interrupted' }, { text: 'ok' }),
    });
    const run = await world.runtime.start({ task: 'work', ...general('count') });
    await clock.advance(60_000);
    expect((await run.outcome).status).toBe('completed');
    expect(made).toEqual([]);
    await world[Symbol.asyncDispose]();
  });

  it('without usage: tokens are estimated, so that the budget still applies', async () => {
    const { outcome, world } = await runOnce({ script: steps({ text: 'hello', usage: null }) });
    expect(factsOf(world, 'model.answered')[0]?.data.usage.estimated).toBe(true);
    expect(outcome.tokens.input).toBeGreaterThan(0);
  });
});

describe('a list of models', () => {
  const listed = { ...anyAgent, name: 'listed', model: ['script/down', 'script/up'] };
  it('falls back on an outage, as a fact, and stays there', async () => {
    const clock = createHandClock();
    const down = steps({ error: { status: 500, message: 'down' }, repeat: 6 });
    const up = steps({ calls: [{ tool: 'echo', args: {} }] }, { text: 'from the second' });
    const echo = tool('echo', async () => ({ output: 'x' }));
    const world = await createWorld({ clock, agents: [listed], tools: [echo], scripts: { down, up } });
    const run = await world.runtime.start({ task: 'work', agent: 'listed' });
    await clock.advance(300_000);
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'from the second' });
    const failed = factsOf(world, 'model.failed').map((fact) => fact.data.fallback);
    expect(failed).toEqual([null, null, null, null, null, 'script/up']);
    expect(factsOf(world, 'model.asked').map((fact) => fact.data.model)).toEqual([
      ...Array(6).fill('script/down'),
      'script/up',
      'script/up',
    ]);
    await world[Symbol.asyncDispose]();
  });

  it('does not fall back if the request itself is refused', async () => {
    const { outcome, world } = await runOnce(
      { agents: [listed], scripts: { down: steps({ error: { status: 401, message: 'no' } }), up: steps({ text: 'x' }) } },
      { agent: 'listed' },
    );
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'auth' } });
    expect(factsOf(world, 'model.asked')).toHaveLength(1);
  });
});

describe('structured results', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false };
  const submit = (args: object) => ({ calls: [{ tool: 'submit_result', args }] });

  it('are validated, and the summary is never empty', async () => {
    const { outcome } = await runOnce({ script: steps(submit({ n: 7 })) }, { result: { schema } });
    expect(outcome).toMatchObject({ status: 'completed', data: { n: 7 }, summary: '{"n":7}' });
  });

  it('are repaired at most three times', async () => {
    const repaired = await runOnce(
      { script: steps(submit({}), { text: 'here: 7' }, submit({ n: 'x' }), submit({ n: 7 })) },
      { result: { schema } },
    );
    expect(repaired.outcome).toMatchObject({ status: 'completed', data: { n: 7 }, summary: 'here: 7' });
    const never = await runOnce(
      { script: steps(submit({}), submit({ n: 'a' }), submit({ n: 'b' }), submit({ n: 'c' })) },
      { result: { schema } },
    );
    expect(never.outcome).toMatchObject({ status: 'failed', error: { code: 'result_invalid' }, turns: 4 });
    expect(never.outcome).not.toHaveProperty('data');
    const silent = await runOnce({ script: steps({ text: '1' }, { text: '2' }, { text: '3' }, { text: '4' }) }, { result: { schema } });
    expect(silent.outcome).toMatchObject({ status: 'failed', error: { code: 'result_invalid' } });
  });

  it.each([[{ type: 'string' }], [{ type: 'object', properties: { n: { type: 'nonsense' } } }]])(
    'need a valid schema: %j',
    async (wrong) => {
      const world = await createWorld();
      await expect(world.runtime.start({ task: 'x', result: { schema: wrong } })).rejects.toMatchObject({ code: 'invalid_brief' });
      await world[Symbol.asyncDispose]();
    },
  );
});

describe('a conversation near the end of the context window', () => {
  it('loses old tool results first, as a fact, and continues', async () => {
    const big = tool('big', async (input) => ({ output: `${input.n} `.repeat(4000) }));
    const call = (n: number, input: number) => ({ calls: [{ tool: 'big', args: { n } }], usage: { input, output: 10 } });
    const { outcome, world } = await runOnce(
      {
        tools: [big],
        agents: [anyAgent],
        script: {
          model: { contextWindow: 20_000 },
          ...steps(call(1, 1000), call(2, 5000), call(3, 9000), call(4, 14_500), { text: 'ok', usage: { input: 9000, output: 1 } }),
        },
      },
      general('big'),
    );
    expect(outcome.status).toBe('completed');
    expect(factsOf(world, 'context.pruned')[0]?.data.calls[0]).toEqual({ turn: 1, index: 0 });
  });

  it('is never sent again unchanged if the provider says it is too long', async () => {
    const big = tool('big', async (input) => ({ output: `${input.n} `.repeat(2000) }));
    const call = (n: number) => ({ calls: [{ tool: 'big', args: { n } }] });
    const { outcome, world } = await runOnce(
      {
        tools: [big],
        agents: [anyAgent],
        script: steps(call(1), call(2), call(3), { error: { status: 400, message: 'maximum context length exceeded' } }, { text: 'ok' }),
      },
      general('big'),
    );
    expect(outcome.status).toBe('completed');
    const hashes = factsOf(world, 'model.asked').map((fact) => fact.data.request);
    expect(new Set(hashes).size).toBe(hashes.length);
    const hopeless = await runOnce({ script: steps({ error: { status: 413, message: 'too large' } }) });
    expect(hopeless.outcome).toMatchObject({ status: 'failed', error: { code: 'context_length' } });
  });
});
