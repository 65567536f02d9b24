// Counts the log and the lines that the tools wrote.
import type { StoredFact } from 'retinue';
import { type ModelRequest, partIn } from './tree.ts';

export interface Counts {
  runs: number;
  open: number;
  completed: number;
  facts: number;
  answers: number;
  tools: number;
  unknown: number;
  /** Keys (see `keyOf`) of requests whose answer is in the log. */
  answered: Set<string>;
  /** Tool calls that wrote their line more than once. */
  repeatedTools: number;
}

export const keyOf = ({ part, answers }: ModelRequest) => `${part} ${answers}`;

export function count(facts: StoredFact[], lines: Map<string, number>): Counts {
  const parts = new Map(facts.flatMap((fact) => (fact.type === 'run.created' ? [[fact.runId, partIn(fact.data.brief.task)]] : [])));
  const countType = (type: StoredFact['type']) => facts.filter((fact) => fact.type === type).length;
  const outcomes = facts.flatMap((fact) => (fact.type === 'run.ended' ? [fact.data.outcome] : []));
  const toolResults = facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
  return {
    runs: countType('run.created'),
    open: countType('run.created') - outcomes.length,
    completed: outcomes.filter((outcome) => outcome.success).length,
    facts: facts.length,
    answers: countType('model.answered'),
    tools: toolResults.filter(({ status }) => status === 'ok').length,
    unknown: toolResults.filter(({ status }) => status === 'unknown').length,
    answered: new Set(
      facts.flatMap((fact) =>
        fact.type === 'model.answered' ? [keyOf({ part: parts.get(fact.runId) ?? '', answers: fact.data.turn - 1 })] : [],
      ),
    ),
    repeatedTools: [...lines.values()].filter((times) => times > 1).length,
  };
}
