// Finds the calls of live runs, in any process, that wait for approval. Facts are the only source.
import { RetinueError } from '../contract/error.ts';
import type { FactOf } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';
import { findRun } from '../records/find-run.ts';
import type { Question } from './api.ts';

/** The open questions of all trees, oldest first. */
export async function listOpenQuestions(store: Store): Promise<Question[]> {
  const rows = await store.runs({ live: true, order: 'oldest' });
  const questions = await Promise.all(rows.map((row) => openQuestionsOf(row, store)));
  return questions.flat().sort((a, b) => (a.askedAt < b.askedAt ? -1 : 1));
}

async function openQuestionsOf(row: RunRow, store: Store): Promise<Question[]> {
  const facts = await store.facts({ runId: row.runId, types: ['approval.asked', 'approval.answered', 'tool.finished'] });
  const asked = facts.filter((fact) => fact.type === 'approval.asked') as FactOf<'approval.asked'>[];
  const settled = new Set(
    facts.flatMap((fact) => (fact.type === 'approval.answered' || fact.type === 'tool.finished' ? [callId(fact.data)] : [])),
  );
  return asked.filter(({ data }) => !settled.has(callId(data))).map((fact) => factToQuestion(fact, row));
}

/** A question from its fact and the row of its run. */
export function factToQuestion({ runId, at, data }: FactOf<'approval.asked'>, row: Pick<RunRow, 'rootId' | 'agent' | 'label'>): Question {
  const { rootId, agent, label } = row;
  return { id: `${runId}.${callId(data)}`, runId, rootId, agent, label, askedAt: at, ...data };
}

function callId({ turn, index }: { turn: number; index: number }): string {
  return `${turn}.${index}`;
}

/**
 * Finds an open question by its id, in which the run id may be a unique prefix, or by the id of a run that has exactly one. Rejects with
 * `unknown_run`, `ambiguous_id` or `usage`.
 */
export async function findQuestion(id: string, store: Store): Promise<Question> {
  const [run = '', ...rest] = id.split('.');
  const row = await findRun(run, store);
  const open = await openQuestionsOf(row, store);
  const matching = rest.length === 0 ? open : open.filter((question) => callId(question) === rest.join('.'));
  if (matching.length === 1) return matching[0] as Question;
  if (matching.length > 1) {
    const ids = matching.map((question) => question.id).join(', ');
    throw new RetinueError('usage', `run ${row.runId} has ${matching.length} open questions; name one of them: ${ids}`);
  }
  throw new RetinueError('unknown_run', `nothing waits for an answer under \`${id}\`; \`retinue approve\` lists open questions`);
}
