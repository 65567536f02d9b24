// Counts what the runs of a tree did, from their facts: turns and runs of a whole subtree, and calls that did not work.
import type { Fact } from '../contract/fact.ts';
import { formatPlural } from './format.ts';

export interface TreeCount {
  /** The run and its descendants. */
  runs: number;
  turns: number;
}

export interface CallProblems {
  failed: number;
  denied: number;
}

export interface TreeCounter {
  /** Each fact once, in order. */
  add(fact: Fact): void;
  count(runId: string): TreeCount;
  problems(runId: string): CallProblems;
}

interface Counted extends CallProblems {
  children: Set<string>;
  turns: number;
}

export function createTreeCounter(): TreeCounter {
  const runs = new Map<string, Counted>();
  const find = (runId: string): Counted => {
    const found = runs.get(runId) ?? { children: new Set(), turns: 0, failed: 0, denied: 0 };
    runs.set(runId, found);
    return found;
  };

  function count(runId: string): TreeCount {
    const { children, turns } = find(runId);
    const below = [...children].map(count);
    return { runs: 1 + below.reduce((sum, each) => sum + each.runs, 0), turns: turns + below.reduce((sum, each) => sum + each.turns, 0) };
  }

  return {
    add(fact) {
      const run = find(fact.runId);
      if (fact.type === 'child.created') run.children.add(fact.data.childId);
      if (fact.type === 'child.ended') find(fact.data.childId).turns = fact.data.outcome.turns;
      if (fact.type === 'model.asked') run.turns = Math.max(run.turns, fact.data.turn);
      if (fact.type === 'run.ended') run.turns = fact.data.outcome.turns;
      if (fact.type !== 'tool.finished') return;
      if (fact.data.status === 'denied') run.denied++;
      else if (fact.data.status !== 'ok' && fact.data.status !== 'cancelled') run.failed++;
    },
    count,
    problems: (runId) => find(runId),
  };
}

/** `2 calls failed, 1 denied`; empty if all calls worked. */
export function describeProblems({ failed, denied }: CallProblems, what: 'call' | 'step' = 'call'): string {
  if (failed > 0 && denied > 0) return `${formatPlural(failed, what)} failed, ${denied} denied`;
  if (failed + denied === 0) return '';
  return `${formatPlural(failed + denied, what)} ${failed > 0 ? 'failed' : 'denied'}`;
}

/** `2 turns`, or `6 turns in 3 runs` for a run with children: tokens and cost include theirs, too. */
export function describeTurns({ runs, turns }: TreeCount): string {
  return runs === 1 ? formatPlural(turns, 'turn') : `${formatPlural(turns, 'turn')} in ${runs} runs`;
}
