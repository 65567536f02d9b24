// What happened outside, held against what the facts say of it.
import type { StoredFact } from '../../src/contract/fact.ts';
import type { Plan } from './plan.ts';
import type { Outside } from './ports.ts';

export function effectFaults(facts: StoredFact[], plan: Plan, { effects, answers }: Outside): string[] {
  return [...toolFaults(facts, effects), ...childFaults(facts, plan), ...messageFaults(facts), ...answerFaults(facts, answers)];
}

/** A call that is not idempotent and finished well took place once; whatever took place more often, the model was told that it is not known. */
function toolFaults(facts: StoredFact[], effects: Map<number, number>): string[] {
  const tally = new Map<number, { ok: number; made: number; tool: string }>();
  const asked = new Map<string, number>();
  for (const fact of facts) {
    if (fact.type === 'tool.asked' && ['strike', 'put', 'look'].includes(fact.data.tool) && fact.data.rejected === null) {
      const { n } = fact.data.arguments as { n: number };
      asked.set(`${fact.runId} ${fact.data.turn}.${fact.data.index}`, n);
      const entry = tally.get(n) ?? { ok: 0, made: 0, tool: fact.data.tool };
      tally.set(n, { ...entry, made: entry.made + 1 });
    }
    if (fact.type === 'tool.finished' && fact.data.status === 'ok') {
      const n = asked.get(`${fact.runId} ${fact.data.turn}.${fact.data.index}`);
      const entry = n === undefined ? undefined : tally.get(n);
      if (entry) entry.ok++;
    }
  }
  return [...tally].flatMap(([n, { ok, made, tool }]) => {
    const times = effects.get(n) ?? 0;
    if (times < ok) return [`${tool} ${n} finished ${ok} times and took place ${times} times`];
    if (tool === 'strike' && times > made) return [`${tool} ${n} was asked for ${made} times and took place ${times} times`];
    return [];
  });
}

/** A brief of the plan became one run at most, however often its call was cut off. */
function childFaults(facts: StoredFact[], plan: Plan): string[] {
  const times = new Map<string, number>();
  for (const fact of facts)
    if (fact.type === 'run.created' && plan.runs.has(fact.data.brief.task) && fact.data.brief.continues === undefined)
      times.set(fact.data.brief.task, (times.get(fact.data.brief.task) ?? 0) + 1);
  return [...times].flatMap(([task, count]) => (count > 1 ? [`${task} became ${count} runs`] : []));
}

/** Orders have a text of their own: each is obeyed once at most. */
function messageFaults(facts: StoredFact[]): string[] {
  const times = new Map<string, number>();
  for (const fact of facts)
    if (fact.type === 'message.received' && fact.data.text.startsWith('order '))
      times.set(fact.data.text, (times.get(fact.data.text) ?? 0) + 1);
  return [...times].flatMap(([text, count]) => (count > 1 ? [`${text} was received ${count} times`] : []));
}

/** Nothing is in the journal as an answer that no model gave. */
function answerFaults(facts: StoredFact[], answers: Map<string, number>): string[] {
  const said = new Map<string, number>();
  return facts.flatMap((fact) => {
    if (fact.type !== 'model.answered') return [];
    const n = said.get(fact.runId) ?? 0;
    if (fact.data.content.length > 0) said.set(fact.runId, n + 1);
    return [...answers.keys()].some((question) => question.startsWith(`${fact.runId} `))
      ? []
      : [`run ${fact.runId} has an answer that nobody gave`];
  });
}
