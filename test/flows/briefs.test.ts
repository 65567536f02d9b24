// Delegations of a resumed flow: they must have the briefs that are recorded.
import { describe, expect, it } from 'vitest';
import { defineFlow, type FlowBrief } from '../../src/main/flow.ts';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { anyModel, copyTree, interruptAt } from './support.ts';

/** Delegates one brief after the other, then waits until it is allowed to end. */
function createFlow(briefs: FlowBrief<unknown>[]) {
  const control = { briefs, isLast: false };
  const flow = defineFlow('briefs', null, async (flow) => {
    const summaries: string[] = [];
    for (const brief of control.briefs) summaries.push((await flow.delegate(brief)).summary);
    await flow.step('wait', () => (control.isLast ? null : new Promise<never>(() => {})), { idempotent: true });
    return summaries;
  });
  return { control, flow };
}

async function resume(store: Store, id: string, { control, flow }: ReturnType<typeof createFlow>) {
  control.isLast = true;
  await using retinue = createRetinue({ model: anyModel({ text: 'other' }), store, flows: [flow] });
  const [handle] = await retinue.api.resume(id);
  return await handle?.outcome;
}

describe('a resumed flow', () => {
  it('ends if two delegations have changed places, even with the same label and agent', async () => {
    const store = createMemoryStore();
    const briefs = ['first', 'second'].map((task) => ({ task, label: 'same', agent: 'explore' }));
    const given = createFlow(briefs);
    const id = await interruptAt('child.ended', store, given.flow);
    given.control.briefs = briefs.toReversed();
    expect(await resume(store, id, given)).toMatchObject({
      status: 'failed',
      error: {
        code: 'flow_changed',
        message: expect.stringMatching(
          /step 1 is now `delegate same` at briefs\.test\.ts:\d+ with another brief than `delegate same` at briefs\.test\.ts:\d+ before/,
        ),
      },
    });
  });

  it('names a delegation by its label, else by the first line of its task', async () => {
    const { control, flow } = createFlow([
      { task: 'Look at a.\nThen at b.', agent: 'explore' },
      { task: 'x', label: 'named' },
    ]);
    control.isLast = true;
    await using retinue = createRetinue({ model: anyModel({ text: 'fine' }) });
    const run = await retinue.flow(flow, null);
    await run.outcome;
    const steps = (await retinue.api.logs(run.id)).flatMap((fact) => ('data' in fact && fact.type === 'step.started' ? [fact] : []));
    expect(steps.map(({ v, data }) => [v, data.name])).toEqual([
      [2, 'Look at a.'],
      [2, 'named'],
      [1, 'wait'],
    ]);
  });

  it('continues a journal without hashes of briefs, in which the agent was the name', async () => {
    const store = createMemoryStore();
    const given = createFlow([{ task: 'first', agent: 'explore' }, { task: 'second' }]);
    const id = await interruptAt('step.started', store, given.flow);
    const older = await copyTree(store, id, (fact) => {
      if (fact.type !== 'step.started' || fact.data.brief === undefined) return fact;
      const { brief: _, ...data } = fact.data;
      return { ...fact, v: 1, data: { ...data, name: data.name === 'first' ? 'explore' : data.name } };
    });
    expect(await resume(older, id, given)).toMatchObject({ status: 'completed', data: [expect.any(String), 'other'] });
  });
});
