// Compares what happened outside (tool effects, model answers) with what the facts say.
import type { StoredFact } from '../../src/contract/fact.ts';
import type { Plan } from './plan.ts';
import type { Outside } from './ports.ts';

export function effectFaults(facts: StoredFact[], plan: Plan, { effects, answers }: Outside): string[] {
  return [...toolFaults(facts, effects), ...childFaults(facts, plan), ...messageFaults(facts), ...answerFaults(facts, answers)];
}

/** Every successful call took effect, and a call that is not idempotent took effect at most once. */
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

/** A brief of the plan became at most one run, however often its call was interrupted. */
function childFaults(facts: StoredFact[], plan: Plan): string[] {
  const times = new Map<string, number>();
  for (const fact of facts)
    if (fact.type === 'run.created' && plan.runs.has(fact.data.brief.task) && fact.data.brief.continues === undefined)
      times.set(fact.data.brief.task, (times.get(fact.data.brief.task) ?? 0) + 1);
  return [...times].flatMap(([task, count]) => (count > 1 ? [`${task} became ${count} runs`] : []));
}

/** Each order has a unique text, and is applied at most once. */
function messageFaults(facts: StoredFact[]): string[] {
  const times = new Map<string, number>();
  for (const fact of facts)
    if (fact.type === 'message.received' && fact.data.text.startsWith('order '))
      times.set(fact.data.text, (times.get(fact.data.text) ?? 0) + 1);
  return [...times].flatMap(([text, count]) => (count > 1 ? [`${text} was received ${count} times`] : []));
}

/** Every recorded answer was given by a model. */
function answerFaults(facts: StoredFact[], answers: Map<string, number>): string[] {
  const said = new Map<string, number>();
  return facts.flatMap((fact) => {
    if (fact.type !== 'model.answered') return [];
    const n = said.get(fact.runId) ?? 0;
    if (fact.data.content.length > 0) said.set(fact.runId, n + 1);
    return [...answers.keys()].some((question) => question.startsWith(`${fact.runId} `))
      ? []
      : [`run ${fact.runId} has an answer that no model gave`];
  });
}
