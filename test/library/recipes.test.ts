// Agents with parameters, a form of the result and checks, given by a program.
import { describe, expect, it } from 'vitest';
import { createRetinue } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';

const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
const agent = {
  name: 'counter',
  description: 'Counts.',
  prompt: 'Count {{ what }} up to {{ most }}.',
  tools: [],
  parameters: [{ name: 'what' }, { name: 'most', type: 'number' as const, default: '10' }],
};
const submit = (n: unknown) => ({ calls: [{ tool: 'submit_result', args: { n } }] });

describe('an agent with parameters', () => {
  it('gets the values of the brief, and a follow-up keeps them', async () => {
    const model = scriptedModel({ runs: [{ times: 'any', steps: [{ text: 'one' }] }] });
    await using retinue = createRetinue({ model, agents: [agent] });
    const run = await retinue.delegate({ task: 'go', agent: 'counter', params: { what: 'sheep' } });
    expect(await run.outcome).toMatchObject({ status: 'completed' });
    const { brief } = await retinue.api.show(run.id);
    expect(brief).toEqual({ agent: 'counter', params: { what: 'sheep' }, task: 'go' });
    const followUp = await retinue.api.message(run.id, 'and now?');
    if (followUp.kind !== 'continued') throw new Error(followUp.kind);
    expect(await followUp.handle.outcome).toMatchObject({ status: 'completed' });
    expect((await retinue.api.show(followUp.handle.id)).brief).toMatchObject({ continues: run.id, params: { what: 'sheep' } });
  });

  it.each([
    [undefined, 'needs a value for what'],
    [{ what: 'x', most: 'many' }, 'params.most: must be a number'],
    [{ what: 'x', other: 'y' }, 'unknown parameter `other`'],
  ])('refuses %j', async (params, said) => {
    await using retinue = createRetinue({ model: scriptedModel({ runs: [] }), agents: [agent] });
    await expect(retinue.delegate({ task: 'go', agent: 'counter', ...(params && { params }) })).rejects.toMatchObject({
      code: 'invalid_brief',
      message: expect.stringContaining(said),
    });
  });

  it('enforces its form of the result, unless the brief has another', async () => {
    const runs = [
      { when: { task: 'go' }, times: 'any', steps: [submit('x'), submit(2)] },
      { when: { task: 'text' }, times: 'any', steps: [submit('x')] },
    ];
    await using retinue = createRetinue({ model: scriptedModel({ runs }), agents: [{ ...agent, result: { schema } }] });
    const brief = { task: 'go', agent: 'counter', params: { what: 'x' } };
    expect(await (await retinue.delegate(brief)).outcome).toMatchObject({ data: { n: 2 } });
    const other = { schema: { type: 'object', properties: { n: { type: 'string' } } } };
    expect(await (await retinue.delegate({ ...brief, task: 'text', result: other })).outcome).toMatchObject({ data: { n: 'x' } });
  });
});
