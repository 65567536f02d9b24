// A program that embeds Retinue answers calls that need approval.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRetinue, type Question } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';

const tools = { send: { description: 'Sends.', inputSchema: z.object({ to: z.string() }), execute: async () => 'sent' } };
const agents = [{ name: 'clerk', description: '', prompt: 'You send.' }];
const call = { calls: [{ tool: 'send', args: { to: 'ada' } }] };

function open(steps: object[], approve: Parameters<typeof createRetinue>[0]['approve']) {
  return createRetinue({
    model: scriptedModel({ runs: [{ steps }] } as never),
    tools,
    agents,
    rules: ['ask send'],
    ...(approve ? { approve } : {}),
  } as never);
}

describe('approve', () => {
  it.each([
    [true, 'sent'],
    [false, 'refused by the program'],
    [{ refused: 'not today' }, 'refused by the program: not today'],
  ] as const)('answering %j gives %j', async (answer, seen) => {
    const questions: Question[] = [];
    await using retinue = open([call, { expect: { prompt: seen }, text: 'done' }], async (question) => {
      questions.push(question);
      return answer;
    });
    const { outcome } = await retinue.delegate({ task: 'x', agent: 'clerk' });
    expect((await outcome).summary).toBe('done');
    expect(questions).toMatchObject([{ agent: 'clerk', tool: 'send', arguments: { to: 'ada' }, decision: { rule: 'ask send' } }]);
  });

  it('is called once if it answers always', async () => {
    let asked = 0;
    await using retinue = open([call, call, { text: 'done' }], async () => {
      asked++;
      return 'always' as const;
    });
    await (await retinue.delegate({ task: 'x', agent: 'clerk' })).outcome;
    expect(asked).toBe(1);
  });

  it('refuses if it throws; without it every ask is a deny', async () => {
    await using broken = open([call, { expect: { prompt: 'the approval request failed' }, text: 'done' }], async () => {
      throw new Error('the dialog broke');
    });
    expect((await (await broken.delegate({ task: 'x', agent: 'clerk' })).outcome).summary).toBe('done');
    await using nobody = open([call, { expect: { prompt: 'cannot ask for approval' }, text: 'done' }], undefined);
    expect((await (await nobody.delegate({ task: 'x', agent: 'clerk' })).outcome).summary).toBe('done');
  });
});
