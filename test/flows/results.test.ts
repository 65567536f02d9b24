import { expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineFlow } from '../../src/main/flow.ts';
import { createRetinue } from '../../src/main/index.ts';
import { anyModel } from './support.ts';

it('a flow refuses the result of a schema that waits, because the order of its steps would not be repeatable', async () => {
  const result = z.object({ n: z.number() }).refine(async () => true);
  const flow = defineFlow('waits', null, async (steps) => (await steps.delegate({ task: 'count', result })).data);
  await using retinue = createRetinue({ model: anyModel({ calls: [{ tool: 'submit_result', args: { n: 1 } }] }) });
  const outcome = await (await retinue.flow(flow, null)).outcome;
  expect(outcome).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('are asynchronous') } });
});

it('a step is typed as what JSON leaves of its result', async () => {
  const flow = defineFlow('dates', null, async (steps) => {
    const kept = await steps.step('now', () => ({ at: new Date(0), list: [1, 2] as const, text: 'x' }));
    expectTypeOf(kept).toEqualTypeOf<{ at: string; list: readonly [1, 2]; text: string }>();
    return { year: kept.at.slice(0, 4) };
  });
  await using retinue = createRetinue({ model: anyModel({ text: 'x' }) });
  expect(await (await retinue.flow(flow, null)).outcome).toMatchObject({ error: null, data: { year: '1970' } });
});
