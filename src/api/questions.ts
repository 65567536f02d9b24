// Calls that wait for somebody's word, as the facts of live runs say.
import { RetinueError } from '../contract/error.ts';
import type { FactOf } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';
import { findRun } from '../records/find-run.ts';
import type { Question } from './api.ts';

/** Of all trees, the oldest first. */
export async function openQuestions(store: Store): Promise<Question[]> {
  const rows = await store.runs({ live: true, order: 'oldest' });
  const found = await Promise.all(rows.map((row) => questionsOf(row, store)));
  return found.flat().sort((a, b) => (a.askedAt < b.askedAt ? -1 : 1));
}

async function questionsOf(row: RunRow, store: Store): Promise<Question[]> {
  const facts = await store.facts({ runId: row.runId, types: ['approval.asked', 'approval.answered', 'tool.finished'] });
  const asked = facts.filter((fact) => fact.type === 'approval.asked') as FactOf<'approval.asked'>[];
  const settled = new Set(
    facts.flatMap((fact) => (fact.type === 'approval.answered' || fact.type === 'tool.finished' ? [place(fact.data)] : [])),
  );
  return asked.filter(({ data }) => !settled.has(place(data))).map((fact) => questionOf(fact, row));
}

export function questionOf({ runId, at, data }: FactOf<'approval.asked'>, row: Pick<RunRow, 'rootId' | 'agent' | 'label'>): Question {
  const { rootId, agent, label } = row;
  return { id: `${runId}.${place(data)}`, runId, rootId, agent, label, askedAt: at, ...data };
}

function place({ turn, index }: { turn: number; index: number }): string {
  return `${turn}.${index}`;
}

/** By its id, the unique beginning of the run's with the rest of it, or a run that has but one. Rejects with `unknown_run` or `usage`. */
export async function findQuestion(id: string, store: Store): Promise<Question> {
  const [run = '', ...rest] = id.split('.');
  const row = await findRun(run, store);
  const open = await questionsOf(row, store);
  const wanted = rest.length === 0 ? open : open.filter((question) => place(question) === rest.join('.'));
  if (wanted.length === 1) return wanted[0] as Question;
  if (wanted.length > 1)
    throw new RetinueError('usage', `run ${row.runId} asks ${wanted.length} things; name one: ${wanted.map((each) => each.id).join(', ')}`);
  throw new RetinueError('usage', `nothing waits for an answer under \`${id}\`; \`retinue approve\` lists what does`);
}
