import { expect, it } from 'vitest';
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
