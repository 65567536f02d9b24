// A rule asks for approval, and the program answers.
import { tool } from 'ai';
import { createRetinue } from 'retinue';
import { scriptedModel } from 'retinue/testing';
import { z } from 'zod';

const pay = tool({
  description: 'Pays an invoice',
  inputSchema: z.object({ invoice: z.string() }),
  execute: async ({ invoice }) => `paid ${invoice}`,
});
const model = scriptedModel({
  runs: [{ steps: [{ calls: [{ tool: 'pay', args: { invoice: '2026-11' } }] }, { text: 'Nothing was paid.' }] }],
});

await using retinue = createRetinue({
  model,
  tools: { pay },
  agents: [{ name: 'clerk', description: 'Pays', prompt: 'You pay invoices.', tools: ['pay'] }],
  rules: ['ask pay'],
  approve: async ({ agent, tool, arguments: given, decision }) => {
    console.log(`${agent} asks to use ${tool} with ${JSON.stringify(given)}: ${decision.rule} of ${decision.owner}`);
    return { refused: 'not before Friday' };
  },
});
const run = await retinue.delegate({ task: 'Pay what is open.', agent: 'clerk' });
console.log((await run.outcome).summary);
