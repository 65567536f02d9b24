// A typed result: the schema is checked while the agent works, so that it can repair a wrong result.
import { createRetinue } from 'retinue';
import { scriptedModel } from 'retinue/testing';
import { z } from 'zod';

const Finding = z.object({ file: z.string(), severity: z.enum(['low', 'high']) });
const submit = (args: object) => ({ calls: [{ tool: 'submit_result', args }] });
const model = scriptedModel({ runs: [{ steps: [submit({ file: 'a.ts', severity: 'bad' }), submit({ file: 'a.ts', severity: 'high' })] }] });

await using retinue = createRetinue({ model });
const run = await retinue.delegate({ task: 'Find the worst file', result: Finding });
const { data, turns } = await run.outcome;
console.log(`${data?.file} is ${data?.severity}, after ${turns} turns`);
