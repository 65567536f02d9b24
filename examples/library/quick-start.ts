// One brief, one outcome. `model` is any model of the AI SDK; here a scripted one, so that this runs without a key.
import { createRetinue } from 'retinue';
import { scriptedModel } from 'retinue/testing';

const model = scriptedModel({
  runs: [{ steps: [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'I have looked around.' }] }],
});

await using retinue = createRetinue({ model });
const run = await retinue.delegate({ task: 'What is in this folder?', agent: 'explore' });
for await (const event of run.events()) {
  if (event.type === 'tool.asked') console.log(`uses ${event.data.tool}`);
}
const outcome = await run.outcome;
console.log(`${outcome.status}: ${outcome.summary}`);
