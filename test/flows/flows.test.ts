// Flows through the library: steps, results, questions, and what their logs have.
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineFlow, StepUnknown } from '../../src/main/flow.ts';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { checkInvariants, scriptedModel } from '../../src/main/testing.ts';
import { anyModel } from './support.ts';

describe('a flow', () => {
  it('delegates, does its own steps, and returns a value', async () => {
    const store = createMemoryStore();
    const flow = defineFlow('survey', z.object({ names: z.array(z.string()) }), async (flow, { names }) => {
      flow.log(`${names.length} to look at`);
      const found = await flow.map(names, async (name) => (await flow.delegate({ task: `look at ${name}`, label: name })).summary, {
        concurrency: 2,
      });
      const total = await flow.step('count', () => found.length);
      await flow.sleep(1);
      return { found, total };
    });
    const retinue = createRetinue({ model: anyModel({ text: 'fine' }), store: { ...store, close: async () => {} } });
    const run = await retinue.flow(flow, { names: ['a', 'b', 'c'] });
    const outcome = await run.outcome;
    expectTypeOf(outcome.data).toEqualTypeOf<{ found: string[]; total: number } | undefined>();
    expect(outcome).toMatchObject({ status: 'completed', data: { found: ['fine', 'fine', 'fine'], total: 3 }, label: 'survey' });
    const facts = await retinue.api.logs(run.id);
    const steps = facts.flatMap((fact) => (fact.type === 'step.started' && 'data' in fact ? [`${fact.data.kind} ${fact.data.name}`] : []));
    expect(steps).toEqual(['log 3 to look at', 'delegate a', 'delegate b', 'delegate c', 'step count', 'sleep 1 ms']);
    const [first] = facts.filter((fact) => fact.type === 'step.started');
    expect(first && 'data' in first && first.type === 'step.started' && first.data.at).toMatch(/^flows\.test\.ts:\d+$/);
    const tree = await retinue.api.tree(run.id);
    expect(tree.runs.map(({ kind, depth }) => [kind, depth])).toEqual([
      ['flow', 0],
      ['agent', 1],
      ['agent', 1],
      ['agent', 1],
    ]);
    await retinue.close();
    expect(await checkInvariants(store)).toEqual([]);
  });

  it('gets typed data of its children, and the refusal of a brief as an error', async () => {
    const model = anyModel({ calls: [{ tool: 'submit_result', args: { severity: 'high' } }] });
    await using retinue = createRetinue({ model });
    const flow = defineFlow('typed', null, async (flow) => {
      const { data } = await flow.delegate({ task: 'x', result: z.object({ severity: z.enum(['low', 'high']) }) });
      const refused = await flow.delegate({ task: 'x', agent: 'nobody' }).catch((error: { code: string }) => error.code);
      return [data?.severity, refused];
    });
    const { data } = await (await retinue.flow(flow, null)).outcome;
    expect(data).toEqual(['high', 'unknown_agent']);
  });

  it('refuses an input that does not match, before there is a run', async () => {
    const program = async () => 1;
    const flow = defineFlow('strict', z.object({ n: z.number() }), program);
    await using retinue = createRetinue({ model: anyModel({ text: 'x' }), flows: [flow] });
    await expect(retinue.flow(flow, { n: 'x' } as never)).rejects.toMatchObject({
      code: 'invalid_brief',
      message: expect.stringContaining('n: '),
    });
    const json = defineFlow('json', { type: 'object', required: ['n'] }, program);
    await expect(retinue.flow(json, {})).rejects.toMatchObject({ code: 'invalid_brief' });
    expect(await retinue.api.ps({ all: true })).toEqual([]);
  });

  it('fails with the error of its program, and passes errors of its steps to it', async () => {
    await using retinue = createRetinue({ model: anyModel({ text: 'x' }) });
    const flow = defineFlow('fails', null, async (flow) => {
      const first = await flow
        .step('bad', () => Promise.reject(new TypeError('no such thing')))
        .catch((error: Error) => `${error.name}: ${error.message}`);
      throw new Error(`after ${first}`);
    });
    const outcome = await (await retinue.flow(flow, null)).outcome;
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'flow_failed', message: 'Error: after TypeError: no such thing' } });
    expect(new Error('x') instanceof StepUnknown).toBe(false);
  });

  it('refuses steps inside of a side effect, which would be missing after a crash', async () => {
    await using retinue = createRetinue({ model: anyModel({ text: 'fine' }) });
    const flow = defineFlow('nests', null, async (flow) => {
      const { promise: later, resolve } = Promise.withResolvers<unknown>();
      const inside = await flow
        .step('outer', async () => {
          setTimeout(() => resolve(flow.step('after it', () => 'ok')), 5);
          return (await flow.delegate({ task: 'x' })).summary;
        })
        .catch((error: Error) => error.message);
      return [inside, await later];
    });
    const run = await retinue.flow(flow, null);
    expect(await run.outcome).toMatchObject({
      status: 'completed',
      data: [expect.stringMatching(/flow\.delegate was called inside the side effect of the step `outer`/), 'ok'],
    });
    expect((await retinue.api.tree(run.id)).runs).toHaveLength(1);
  });

  it('lets a side effect run another flow', async () => {
    await using retinue = createRetinue({ model: anyModel({ text: 'fine' }) });
    const inner = defineFlow('inner', null, async (flow) => (await flow.delegate({ task: 'x' })).summary);
    const outer = defineFlow('outer', null, (flow) =>
      flow.step('run it', async () => (await (await retinue.flow(inner, null)).outcome).summary),
    );
    expect(await (await retinue.flow(outer, null)).outcome).toMatchObject({ status: 'completed', summary: 'fine' });
  });

  it('names the steps that its program did not wait for', async () => {
    await using retinue = createRetinue({ model: anyModel({ text: 'fine' }) });
    const forgetful = defineFlow('forgets', null, async (flow) => {
      void flow.step('publish', () => 'published');
      void flow.delegate({ task: 'look', label: 'look' });
      flow.log('done');
    });
    const { status, notices = [] } = await (await retinue.flow(forgetful, null)).outcome;
    expect(status).toBe('completed');
    expect(notices).toEqual([
      expect.stringMatching(/^step 1, `step publish` at flows\.test\.ts:\d+, had not ended when the program returned; await every step$/),
      expect.stringMatching(/^step 2, `delegate look` at flows\.test\.ts:\d+, had not ended/),
    ]);
  });

  it.each([401, 3000, 100_000])('gets an error for a result of a step that is nested %d levels deep', async (levels) => {
    const nested = () => {
      let value: unknown = 'x';
      for (let level = 0; level < levels; level++) value = [value];
      return value as never;
    };
    await using retinue = createRetinue({ model: anyModel({ text: 'x' }) });
    const flow = defineFlow('nested', null, async (flow) => flow.step('deep', nested).catch((error: Error) => error.message));
    const { summary } = await (await retinue.flow(flow, null)).outcome;
    expect(summary).toMatch(/^the result of step `deep` is nested deeper than 400 levels; make it flatter/);
    const whole = await (
      await retinue.flow(
        defineFlow('whole', null, async () => nested()),
        null,
      )
    ).outcome;
    expect(whole).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('nested deeper than 400 levels') } });
  });

  it.each([401, 3000, 100_000])('refuses an input and a brief that are nested %d levels deep', async (levels) => {
    await using retinue = createRetinue({ model: anyModel({ text: 'x' }) });
    let deep: unknown = 1;
    for (let i = 0; i < levels; i++) deep = { a: deep };
    const flow = defineFlow('takes', {}, async (flow) => flow.delegate({ task: 'x', result: { schema: { a: deep } as never } }));
    const refused = {
      code: 'invalid_brief',
      message: expect.stringMatching(/^the input of the flow is nested deeper than 400 levels; make it/),
    };
    await expect(retinue.flow(flow, deep as never)).rejects.toMatchObject(refused);
    const outcome = await (await retinue.flow(flow, {})).outcome;
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('the brief is nested deeper than 400 levels') },
    });
  });

  it('records half a surrogate pair as a replacement character, and passes that on', async () => {
    await using retinue = createRetinue({ model: anyModel({ text: 'x' }) });
    const flow = defineFlow('halves', null, async (flow) => flow.step('half', () => ({ 'k\ud800': 'a\udc00 😀 \\ud800' })));
    const run = await retinue.flow(flow, null);
    const { data } = await run.outcome;
    expect(data).toEqual({ 'k\ufffd': 'a\ufffd 😀 \\ud800' });
    expect(JSON.stringify(await retinue.api.logs(run.id))).not.toMatch(/(?<!\\)\\ud800/);
  });

  it('takes the first results of a quorum and cancels the rest', async () => {
    const model = scriptedModel({
      runs: [
        { when: { label: 'slow' }, steps: [{ hang: 'start' }] },
        { when: { label: 'fails' }, steps: [{ text: '' }, { text: '' }] },
        { times: 'any', steps: [{ text: 'yes' }] },
      ],
    });
    await using retinue = createRetinue({ model });
    const flow = defineFlow('quorum', null, async (flow) => {
      const asked = ['slow', 'fails', 'a', 'b'].map((label) => flow.delegate({ task: 'decide', label }));
      const votes = await flow.any(asked, { count: 2 });
      return votes.map(({ label }) => label);
    });
    const run = await retinue.flow(flow, null);
    const { data, notices } = await run.outcome;
    expect(data).toEqual(['a', 'b']);
    expect(notices).toBeUndefined();
    const runs = await retinue.api.ps({ all: true });
    expect(runs.find(({ label }) => label === 'slow')?.status).toBe('cancelled');
  });

  it('asks a person, who answers like for any other question', async () => {
    await using retinue = createRetinue({
      model: anyModel({ text: 'x' }),
      approve: async ({ tool }) => (tool === 'ask' ? { refused: 'not today' } : true),
    });
    const flow = defineFlow('asks', null, async (flow) => [await flow.ask('Deploy?'), await flow.ask('Sure?', { timeoutMs: 60_000 })]);
    const { data } = await (await retinue.flow(flow, null)).outcome;
    expect(data).toEqual([0, 1].map(() => ({ approved: false, by: 'the program', reason: 'not today' })));
  });

  it('takes an unanswered question as refused', async () => {
    await using retinue = createRetinue({ model: anyModel({ text: 'x' }) });
    const flow = defineFlow('waits', null, (flow) => flow.ask('Deploy?', { timeoutMs: 5 }));
    expect((await (await retinue.flow(flow, null)).outcome).data).toMatchObject({ approved: false, by: 'Retinue' });
  });

  it('stops its children and its steps when it is cancelled or its time is over', async () => {
    await using retinue = createRetinue({ model: anyModel({ hang: 'start' }) });
    const stopped = Promise.withResolvers<string>();
    const flow = defineFlow('stops', null, async (flow) => {
      const effect = flow.step(
        'waits',
        ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(stopped.resolve('aborted')))),
      );
      await flow.all([flow.delegate({ task: 'x' }), effect]);
    });
    const run = await retinue.flow(flow, null);
    await expect
      .poll(async () => (await retinue.api.ps({ all: false })).map(({ status }) => status).sort())
      .toEqual(['running', 'running']);
    await run.cancel('enough');
    expect(await run.outcome).toMatchObject({ status: 'cancelled' });
    expect(await stopped.promise).toBe('aborted');
    const late = await retinue.flow(flow, null, { limits: { timeoutMs: 50 } });
    expect(await late.outcome).toMatchObject({ status: 'timed_out' });
    expect(await retinue.api.ps({ all: false })).toEqual([]);
  });

  it('counts what its children spend against its limits', async () => {
    const model = anyModel({ text: 'x', usage: { input: 900, output: 200 } });
    await using retinue = createRetinue({ model });
    const flow = defineFlow('spends', null, async (flow) =>
      (await flow.map([1, 2, 3], () => flow.delegate({ task: 'x' }), { concurrency: 1 })).map(({ status }) => status),
    );
    const { data, tokens } = await (await retinue.flow(flow, null, { limits: { maxTokens: 2_000 } })).outcome;
    expect(data?.at(-1)).not.toBe('completed');
    expect(tokens.input).toBeLessThanOrEqual(1_900);
  });

  it('is paused and released like any run, and begins nothing meanwhile', async () => {
    await using retinue = createRetinue({ model: anyModel({ text: 'x' }) });
    const gate = Promise.withResolvers<void>();
    const begun: string[] = [];
    const flow = defineFlow('pauses', null, async (flow) => {
      await flow.step('first', () => {
        begun.push('first');
        return gate.promise;
      });
      await flow.step('second', () => void begun.push('second'));
      return 'end';
    });
    const run = await retinue.flow(flow, null);
    await expect.poll(() => begun).toEqual(['first']);
    const paused = retinue.api.pause([run.id], 'a test');
    await expect.poll(async () => (await retinue.api.show(run.id)).status).toBe('paused');
    gate.resolve();
    expect(await paused).toMatchObject([{ result: 'paused' }]);
    await expect.poll(async () => (await retinue.api.logs(run.id)).some((fact) => fact.type === 'step.finished')).toBe(true);
    expect(begun).toEqual(['first']);
    expect(await retinue.api.release(run.id)).toBe(true);
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'end' });
    expect(begun).toEqual(['first', 'second']);
  });

  it('makes a step that was held back by a pause in the next process, and reports none of them as unknown', async () => {
    const store = createMemoryStore();
    const later = Promise.withResolvers<void>();
    const begun: string[] = [];
    let isFirst = true;
    const flow = defineFlow('held', null, async (flow) => {
      const first = flow.step('first', () => (isFirst ? new Promise(() => {}) : 'one'), { idempotent: true });
      await later.promise;
      const second = flow.step('second', () => {
        begun.push('second');
        return 'two';
      });
      return Promise.all([first, second]);
    });
    const open = () => createRetinue({ model: anyModel({ text: 'x' }), store: { ...store, close: async () => {} }, flows: [flow] });
    const one = open();
    const run = await one.flow(flow, null);
    run.outcome.catch(() => {});
    await expect.poll(async () => (await one.api.logs(run.id)).filter(({ type }) => type === 'step.started').length).toBe(1);
    void one.api.pause([run.id], 'a test').catch(() => {});
    await expect.poll(async () => (await one.api.show(run.id)).status).toBe('paused');
    later.resolve();
    await expect.poll(async () => (await one.api.logs(run.id)).filter(({ type }) => type === 'step.started').length).toBe(2);
    await one.api.drain('the machine restarts');
    await one.close();
    isFirst = false;
    expect(begun).toEqual([]);
    const two = open();
    const [handle] = await two.api.resume(run.id);
    expect(await handle?.outcome).toMatchObject({ status: 'completed', data: ['one', 'two'] });
    expect(begun).toEqual(['second']);
    await two.close();
    expect(await checkInvariants(store)).toEqual([]);
  });

  it('is left for another process when its own one stops, and continues there', async () => {
    const store = createMemoryStore();
    const inside = Promise.withResolvers<void>();
    let isFirst = true;
    const flow = defineFlow('moves', null, async (flow) => {
      const one = await flow.delegate({ task: 'x' });
      const two = await flow.step(
        'two',
        ({ signal }) => {
          inside.resolve();
          return isFirst ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))) : 'done';
        },
        { idempotent: true },
      );
      return [one.summary, two];
    });
    const first = createRetinue({ model: anyModel({ text: 'fine' }), store: { ...store, close: async () => {} } });
    const run = await first.flow(flow, null);
    await inside.promise;
    await first.api.drain('the machine restarts');
    await expect(run.outcome).rejects.toMatchObject({ code: 'paused' });
    await first.close();
    isFirst = false;
    const second = createRetinue({
      model: anyModel({ text: 'other' }),
      store: { ...store, close: async () => {} },
      flows: [flow],
    });
    const [handle] = await second.api.resume(run.id);
    expect(await handle?.outcome).toMatchObject({ status: 'completed', data: ['fine', 'done'] });
    await second.close();
    expect(await checkInvariants(store)).toEqual([]);
  });
});
