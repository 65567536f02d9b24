// Many briefs at once. Results are settled, in the order of the briefs; a failure does not affect the others.
import { createRetinue } from 'retinue';
import { scriptedModel } from 'retinue/testing';

const model = scriptedModel({
  runs: [
    { when: { task: 'good' }, times: 'any', steps: [{ text: 'done' }] },
    { when: { task: 'bad' }, times: 'any', steps: [{ text: '' }, { text: '' }] },
  ],
});

await using retinue = createRetinue({ model });
const scope = retinue.scope({ label: 'many' });
const results = await scope.all([{ task: 'a good one' }, { task: 'a bad one' }, { task: 'another good one' }], { concurrency: 2 });
for (const result of results)
  console.log(result.status === 'fulfilled' ? `${result.value.status} ${result.value.error?.code ?? ''}`.trim() : result.reason);
await scope.close();
