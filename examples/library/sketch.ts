// The sketch of the README: the lines between the marks appear there word for word.
import { type Tool, ToolLoopAgent } from 'ai';
import { scriptedModel } from 'retinue/testing';
import { z } from 'zod';

const Finding = z.object({ file: z.string() });
const model = scriptedModel({ runs: [{ times: 'any', steps: [{ calls: [{ tool: 'submit_result', args: { file: 'a.ts' } }] }] }] });
const mine: Record<string, Tool> = {};

// README ↓
import { createRetinue } from 'retinue';

await using retinue = createRetinue({ model }); // any model of the AI SDK, V2 to V4
const run = await retinue.delegate({ task: 'Find the worst file', agent: 'explore', result: Finding });
for await (const event of run.events()) console.log(event.type);
const { status, data } = await run.outcome; // never rejects for an agent's failure; data has the schema's type

const scope = retinue.scope({ limits: { maxTokens: 500_000 } }); // nothing that it delegates outlives it
const agent = new ToolLoopAgent({ model: 'any/model', tools: { ...mine, ...scope.tools() } });
// README ↑

console.log(status, data?.file, Object.keys(agent.tools).length);
await scope.close();
