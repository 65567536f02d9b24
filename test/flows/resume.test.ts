// Flows whose process dies: at every fact, in the middle of a step, and with a program that has changed.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { definitionToProgram } from '../../src/flows/program.ts';
import { defineFlow, type Flow, type FlowDefinition, StepUnknown } from '../../src/main/flow.ts';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { checkInvariants, createHandClock } from '../../src/main/testing.ts';
import type { Store } from '../../src/ports/store.ts';
import { createDyingStore } from '../support/dying-store.ts';
import { createWorld } from '../support/world.ts';
import { anyModel, interruptAt } from './support.ts';

const model = () => anyModel({ text: 'fine' });
const kept = (store: Store): Store => ({ ...store, close: async () => {} });

/** Runs a flow in processes that die after this many facts each, then in one that does not. */
async function runThroughDeaths(definition: FlowDefinition, deaths: { facts: number; isLost: boolean }[]) {
  const store = createMemoryStore();
  let rootId: string | null = null;
  for (const { facts, isLost } of deaths) {
    const dying = createDyingStore(store, facts, { isLost });
    const retinue = createRetinue({ model: model(), store: dying.store, flows: [definition] });
    const ended = drive(retinue, rootId).then(
      () => 'ended' as const,
      () => 'ended' as const,
    );
    const how = await Promise.race([ended, dying.died]);
    await dying.bury();
    rootId ??= (await store.runs({ roots: true, order: 'oldest' }))[0]?.runId ?? null;
    if (how === 'ended') break;
  }
  const retinue = createRetinue({ model: model(), store: kept(store), flows: [definition] });
  await drive(retinue, rootId);
  const [root] = await store.runs({ roots: true, order: 'oldest' });
  const [ended] = await store.facts({ runId: root?.runId as string, types: ['run.ended'] });
  await retinue.close();
  const outcome = ended?.type === 'run.ended' ? ended.data.outcome : null;
  return { store, rootId: root?.runId as string, outcome, violations: await checkInvariants(store) };

  async function drive(retinue: ReturnType<typeof createRetinue>, id: string | null): Promise<void> {
    if (id === null) await (await retinue.flow(definition, null)).outcome;
    else for (const handle of await retinue.api.resume(id)) await handle.outcome;
  }
}

function createEverything(log: string[]): FlowDefinition {
  return defineFlow('everything', null, async (flow) => {
    flow.log('begin');
    const one = await flow.step('one', () => void log.push('one'), { idempotent: true });
    const parts = await flow.map(
      ['a', 'b', 'c'],
      async (label) => {
        const { summary } = await flow.delegate({ task: label, label });
        return flow.step(`after ${label}`, () => `${label} ${summary}`, { idempotent: true });
      },
      { concurrency: 2 },
    );
    await flow.sleep(1);
    const { approved } = await flow.ask('Go on?', { timeoutMs: 1 });
    return { one, parts, approved };
  });
}

describe('a flow whose process dies', () => {
  it('gives the same result wherever it dies, and repeats no finished step', async () => {
    const expected = { parts: ['a fine', 'b fine', 'c fine'], approved: false };
    const whole = await runThroughDeaths(createEverything([]), []);
    expect(whole.outcome).toMatchObject({ status: 'completed', data: expected });
    const count = (await whole.store.facts({})).length;
    for (let facts = 1; facts < count; facts++) {
      const log: string[] = [];
      const { outcome, violations, store } = await runThroughDeaths(createEverything(log), [{ facts, isLost: facts % 2 === 0 }]);
      expect(outcome, `died after ${facts} facts`).toMatchObject({ status: 'completed', data: expected });
      expect(violations, `died after ${facts} facts`).toEqual([]);
      const children = (await store.runs({ roots: false })).filter(({ depth }) => depth === 1);
      expect(children, `died after ${facts} facts`).toHaveLength(3);
    }
  }, 120_000);

  it('does not repeat a side effect that was cut off: StepUnknown, which the program can catch', async () => {
    const store = createMemoryStore();
    const dying = createDyingStore(store, 1000);
    const calls = { once: 0, again: 0 };
    const inside = Promise.withResolvers<void>();
    let isFirst = true;
    const hang = () => (isFirst ? new Promise<never>(() => {}) : 'done');
    const flow = defineFlow('cut', null, async (flow) => {
      const again = flow.step(
        'again',
        () => {
          calls.again++;
          return hang();
        },
        { idempotent: true },
      );
      const once = flow.step('once', () => {
        calls.once++;
        inside.resolve();
        return hang();
      });
      const caught = await once.catch((error: unknown) => (error instanceof StepUnknown ? 'unknown' : 'other'));
      return [caught, await again];
    });
    const first = createRetinue({ model: model(), store: dying.store });
    const run = await first.flow(flow, null);
    await inside.promise;
    await dying.bury();
    isFirst = false;
    const second = createRetinue({ model: model(), store: kept(store), flows: [flow] });
    const [handle] = await second.api.resume(run.id);
    expect(await handle?.outcome).toMatchObject({ status: 'completed', data: ['unknown', 'done'] });
    expect(calls).toEqual({ once: 1, again: 2 });
    await second.close();
  });

  it('does not run its program again once it has returned', async () => {
    const store = createMemoryStore();
    let programs = 0;
    const flow = defineFlow('returned', null, async (flow) => {
      programs++;
      const untilStopped = ({ signal }: { signal: AbortSignal }) =>
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      flow.step('open', untilStopped, { idempotent: true }).catch(() => {});
      return flow.step('one', () => 1, { idempotent: true });
    });
    const id = await interruptAt('flow.returned', store, flow);
    await using second = createRetinue({ model: model(), store, flows: [flow] });
    const [handle] = await second.api.resume(id);
    const outcome = await handle?.outcome;
    expect(outcome).toMatchObject({ status: 'completed', data: 1 });
    expect(outcome?.notices).toEqual([expect.stringContaining('`step open`')]);
    expect(programs).toBe(1);
  });

  it('fails with the code step_unknown if the program does not catch it', async () => {
    const store = createMemoryStore();
    const dying = createDyingStore(store, 1000);
    const inside = Promise.withResolvers<void>();
    const flow = defineFlow('cut', null, (flow) =>
      flow.step('pay', () => {
        inside.resolve();
        return new Promise<never>(() => {});
      }),
    );
    const run = await createRetinue({ model: model(), store: dying.store }).flow(flow, null);
    await inside.promise;
    await dying.bury();
    await using second = createRetinue({ model: model(), store, flows: [flow] });
    const [handle] = await second.api.resume(run.id);
    const outcome = await handle?.outcome;
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'step_unknown', message: expect.stringMatching(/`pay` at resume\.test\.ts:\d+/) },
    });
  });
});

/** Starts a flow in a process that dies as soon as its first step has ended. */
async function interrupt(store: Store, definition: FlowDefinition): Promise<string> {
  const dying = createDyingStore(store, 1000);
  const retinue = createRetinue({ model: model(), store: dying.store });
  const run = await retinue.flow(definition, null);
  await expect.poll(async () => (await store.facts({ runId: run.id, types: ['step.finished'] })).length).toBeGreaterThan(0);
  await dying.bury();
  return run.id;
}

describe('a program that differs from the log', () => {
  const hang = (flow: Flow) => flow.step('hang', () => new Promise<never>(() => {}), { idempotent: true });

  it('ends the flow with both lines if it takes another step', async () => {
    const store = createMemoryStore();
    let name = 'first';
    const flow = defineFlow('changes', null, async (flow) => {
      await flow.step(name, () => 1);
      return hang(flow);
    });
    const id = await interrupt(store, flow);
    name = 'second';
    await using retinue = createRetinue({ model: model(), store, flows: [flow] });
    const [handle] = await retinue.api.resume(id);
    expect(await handle?.outcome).toMatchObject({
      status: 'failed',
      error: {
        code: 'flow_changed',
        message: expect.stringMatching(
          /step 1 is now `step second` at resume\.test\.ts:\d+, but it was `step first` at resume\.test\.ts:\d+/,
        ),
      },
    });
  });

  it('ends the flow if it takes fewer steps', async () => {
    const store = createMemoryStore();
    let isShort = false;
    const flow = defineFlow('shorter', null, async (flow) => {
      await flow.step('first', () => 1);
      if (!isShort) await hang(flow);
    });
    const id = await interrupt(store, flow);
    isShort = true;
    await using retinue = createRetinue({ model: model(), store, flows: [flow] });
    const [handle] = await retinue.api.resume(id);
    expect(await handle?.outcome).toMatchObject({
      error: { code: 'flow_changed', message: expect.stringContaining('before step 2, `step hang`') },
    });
  });

  it('ends the flow with the recorded line if it waits for something other than its next step', async () => {
    const store = createMemoryStore();
    let isStuck = false;
    const flow = defineFlow('stuck', null, async (flow) => {
      if (isStuck) await new Promise<never>(() => {});
      await flow.step('first', () => 1);
      return hang(flow);
    });
    const id = await interrupt(store, flow);
    isStuck = true;
    const program = await definitionToProgram(flow);
    const clock = createHandClock({ now: Date.now() });
    await using world = await createWorld({
      clock,
      store: kept(store),
      settings: { workspace: process.cwd() },
      options: { flows: { load: async () => program } },
    });
    const resumed = await world.runtime.resume(id, 'a test');
    if (!resumed.ok) throw new Error('not resumed');
    await clock.advance(9_900);
    expect(world.types(id)).not.toContain('run.ended');
    await clock.advance(200);
    expect(await resumed.handles[0]?.outcome).toMatchObject({
      status: 'failed',
      error: {
        code: 'flow_changed',
        message: expect.stringMatching(/the program does not begin step 1, `step first` at resume\.test\.ts:\d+, as it did before/),
      },
    });
  });

  it('is refused if its source has changed, or if it is not there; the run stays as it is', async () => {
    const store = createMemoryStore();
    const id = await interrupt(
      store,
      defineFlow('edited', null, async (flow) => {
        await flow.step('first', () => 1);
        return hang(flow);
      }),
    );
    const edited = defineFlow('edited', null, async (flow) => {
      await flow.step('first', () => 2);
      return hang(flow);
    });
    for (const [flows, message] of [
      [[edited], /its program has changed since it began. Restore the program, or cancel the run/],
      [[], /pass its definition in `flows`/],
    ] as const) {
      const retinue = createRetinue({ model: model(), store: kept(store), flows: flows });
      await expect(retinue.api.resume(id)).rejects.toMatchObject({ code: 'flow_changed', message: expect.stringMatching(message) });
      expect((await retinue.api.show(id)).endedAt).toBeNull();
      await retinue.close();
    }
  });
});

/** A random program: steps, one after the other or side by side. */
type Plan =
  | { kind: 'step'; value: number }
  | { kind: 'delegate' | 'fail' | 'sleep' | 'ask' }
  | { kind: 'race'; count: number }
  | { kind: 'seq' | 'all' | 'map' | 'any'; parts: Plan[] };

const plans = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ kind: fc.constant('step' as const), value: fc.nat(9) }),
    fc.record({ kind: fc.constantFrom('delegate' as const, 'fail' as const, 'sleep' as const, 'ask' as const) }),
    fc.record({ kind: fc.constant('race' as const), count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({
      kind: fc.constantFrom('seq' as const, 'all' as const, 'map' as const, 'any' as const),
      parts: fc.array(tie('plan'), { maxLength: 3 }),
    }),
  ),
})).plan;

async function carryOut(flow: Flow, plan: Plan): Promise<unknown> {
  switch (plan.kind) {
    case 'step':
      return flow.step('value', async () => (plan.value > 4 ? await Promise.resolve(plan.value) : plan.value), { idempotent: true });
    case 'fail':
      return flow.step('fail', () => Promise.reject(new Error('failed')), { idempotent: true }).catch((error: Error) => error.message);
    case 'delegate':
      return (await flow.delegate({ task: 'x' })).summary;
    case 'sleep':
      return flow.sleep(2);
    case 'ask':
      return (await flow.ask('Go on?', { timeoutMs: 1 })).approved;
    case 'race':
      // Who wins depends on the time, what they say does not. The others are cancelled.
      return (await flow.any(Array.from({ length: plan.count }, () => flow.delegate({ task: 'x' })))).map(({ summary }) => summary);
    case 'any':
      return (await flow.any(plan.parts.map((part) => carryOut(flow, part)))).length;
    case 'seq': {
      const results: unknown[] = [];
      for (const part of plan.parts) results.push(await carryOut(flow, part));
      return results;
    }
    case 'all':
      return flow.all(plan.parts.map((part) => carryOut(flow, part)));
    case 'map':
      return flow.map(plan.parts, (part) => carryOut(flow, part), { concurrency: 2 });
  }
}

it('any program of idempotent steps, killed anywhere, gives the result that it gives unkilled', async () => {
  const deaths = fc.array(fc.record({ facts: fc.integer({ min: 1, max: 25 }), isLost: fc.boolean() }), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(plans, deaths, async (plan, at) => {
      const flow = defineFlow('random', null, (flow) => carryOut(flow, { kind: 'seq', parts: [plan] }));
      const whole = await runThroughDeaths(flow, []);
      const killed = await runThroughDeaths(flow, at);
      expect(killed.violations).toEqual([]);
      expect([killed.outcome?.status, killed.outcome?.data]).toEqual([whole.outcome?.status, whole.outcome?.data]);
    }),
    { numRuns: 40 },
  );
}, 120_000);
