// What is counted of the journal and of the lines that the tools left.
import type { StoredFact } from '../../contract/fact.ts';
import { nameIn, type Question } from './tree.ts';

export interface Counted {
  runs: number;
  open: number;
  completed: number;
  facts: number;
  answers: number;
  tools: number;
  unknown: number;
  /** Questions whose answer is in the journal, as `keyOf` writes them. */
  answered: Set<string>;
  /** Tool calls whose line is there more than once. */
  repeatedTools: number;
}

export const keyOf = ({ name, answers }: Question) => `${name} ${answers}`;

export function count(facts: StoredFact[], lines: Map<string, number>): Counted {
  const names = new Map(facts.flatMap((fact) => (fact.type === 'run.created' ? [[fact.runId, nameIn(fact.data.brief.task)]] : [])));
  const of = (type: StoredFact['type']) => facts.filter((fact) => fact.type === type);
  const ended = facts.flatMap((fact) => (fact.type === 'run.ended' ? [fact.data.outcome] : []));
  const finished = facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
  return {
    runs: of('run.created').length,
    open: of('run.created').length - ended.length,
    completed: ended.filter((outcome) => outcome.success).length,
    facts: facts.length,
    answers: of('model.answered').length,
    tools: finished.filter(({ status }) => status === 'ok').length,
    unknown: finished.filter(({ status }) => status === 'unknown').length,
    answered: new Set(
      facts.flatMap((fact) =>
        fact.type === 'model.answered' ? [keyOf({ name: names.get(fact.runId) ?? '', answers: fact.data.turn - 1 })] : [],
      ),
    ),
    repeatedTools: [...lines.values()].filter((times) => times > 1).length,
  };
}
