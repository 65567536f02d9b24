// Answers a question by a quorum: several agents work independently, and an answer counts if enough of them agree. The rest is cancelled. The flow fails
// if too few agents answer at all; the answer is null if they do not agree.
//
//   retinue flow run examples/flows/research.ts --input '{"question":"Which port does the server use by default?"}'
//
// Without a key and without a network, with scripted agents on a small shop:
//
//   retinue flow run examples/flows/research.ts -C examples/flows/shop --model script/research.json --input @examples/flows/shop/question.json
import { defineFlow } from 'retinue/flow';

interface Answer {
  answer: string;
  sources: string[];
}

interface Input {
  question: string;
  /** How many agents begin, and how many have to agree. */
  agents?: number;
  quorum?: number;
}

const input = {
  type: 'object',
  required: ['question'],
  properties: {
    question: { type: 'string' },
    agents: { type: 'integer', minimum: 1, maximum: 20 },
    quorum: { type: 'integer', minimum: 1, maximum: 20 },
  },
};
const answer = {
  type: 'object',
  required: ['answer', 'sources'],
  properties: { answer: { type: 'string' }, sources: { type: 'array', items: { type: 'string' } } },
};

export default defineFlow<Input, { answer: string | null; votes: number; of: number; sources: string[] }>(
  'research',
  input,
  async (flow, { question, agents = 5, quorum = 3 }) => {
    if (quorum > agents) throw new Error(`${quorum} of ${agents} agents cannot agree`);
    const votes = new Map<string, Answer[]>();
    const vote = (given: Answer) => {
      const key = given.answer
        .trim()
        .toLowerCase()
        .replace(/[.\s]+$/, '');
      votes.set(key, [...(votes.get(key) ?? []), given]);
      return (votes.get(key) as Answer[]).length >= quorum;
    };
    const asked = Array.from({ length: agents }, (_, index) =>
      flow.delegate<Answer>({
        task: `${question}\n\nAnswer in as few words as possible. Name the files or pages that prove it.`,
        agent: 'explore',
        label: `researcher ${index + 1}`,
        result: { schema: answer },
      }),
    );
    // The first vote that completes a quorum ends the work of the others.
    await flow.any(asked, { accept: ({ data }) => data !== undefined && vote(data) });
    const voters = [...votes.values()].flat().length;
    if (voters < quorum) throw new Error(`only ${voters} of ${agents} agents answered, and ${quorum} have to agree`);
    const [best = []] = [...votes.values()].sort((a, b) => b.length - a.length);
    return {
      answer: best.length >= quorum ? (best[0]?.answer ?? null) : null,
      votes: best.length,
      of: agents,
      sources: [...new Set(best.flatMap(({ sources }) => sources))],
    };
  },
);
