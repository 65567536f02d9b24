// A dialect of your own: one tool, `ask_expert`, in place of the built-in delegation tools.
import { createRetinue } from 'retinue';
import { scriptedModel } from 'retinue/testing';

const model = scriptedModel({
  runs: [
    {
      when: { agent: 'general' },
      steps: [
        { expect: { tools: ['ask_expert'] }, calls: [{ tool: 'ask_expert', args: { question: 'Where is the parser?' } }] },
        { expect: { prompt: 'src/parse.ts' }, text: 'The expert says: in src/parse.ts.' },
      ],
    },
    { when: { agent: 'explore' }, times: 2, steps: [{ text: 'It is in src/parse.ts.' }] },
  ],
});

// docs ↓
import { type DialectResult, defineDialect, defineDialectTool } from 'retinue/dialects';
import { z } from 'zod';

const failed = (text: string): DialectResult => ({ parts: [{ text }], isError: true });

const askExpert = defineDialectTool({
  name: 'ask_expert',
  description: () => 'Asks an agent that knows these files. Returns its answer.',
  input: z.strictObject({ question: z.string().min(1) }),
  readOnly: true,
  toRequest: ({ question }) => ({ kind: 'delegate', briefs: [{ task: question, agent: 'explore' }], waitMs: null }),
  fromReply(reply) {
    if (reply.kind === 'refused') return failed(reply.error.message);
    const [child] = reply.kind === 'children' ? reply.children : [];
    if (!child) return failed('nothing was delegated');
    if (!child.ok) return failed(child.error.message);
    const { row, outcome } = child.view;
    if (!outcome?.success) return failed(`no answer: ${outcome?.error?.message ?? 'the expert is still running'}`);
    // `run` marks the text as the child's: Retinue encloses it, so that it cannot pass for yours.
    return { parts: [{ text: 'The expert answers:' }, { text: outcome.summary, run: row.runId }], isError: false };
  },
});

const experts = defineDialect({ name: 'experts', description: 'One tool that asks an expert', tools: [askExpert] });
// docs ↑

await using retinue = createRetinue({ model, dialect: experts });
const run = await retinue.delegate({ task: 'Find the parser.' });
console.log((await run.outcome).summary);

await using scope = retinue.scope();
const answer = (await scope.tools().ask_expert?.execute({ question: 'Where is the parser?' })) ?? '';
console.log(answer.includes('It is in src/parse.ts.'));
