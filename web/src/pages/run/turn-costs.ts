// What each turn of a run used, from its facts.
import type { ErasedFact, StoredFact } from '../../../../src/contract/fact.ts';

export interface TurnCost {
  turn: number;
  model: string;
  input: number;
  cached: number;
  output: number;
  reasoning: number;
  /** Null if no price is known. */
  costUsd: number | null;
  /** From the first request of the turn to its answer, with retries. */
  ms: number;
  /** Requests that failed. */
  failures: number;
  isEstimated: boolean;
  /** A summary of the conversation is part of it. */
  hasCompaction: boolean;
}

export function factsToTurnCosts(facts: (StoredFact | ErasedFact)[]): TurnCost[] {
  const turns = new Map<number, TurnCost & { askedAt: number }>();
  for (const fact of facts) {
    if ('erased' in fact) continue;
    if (fact.type === 'model.asked') {
      const { turn, model, purpose } = fact.data;
      const known = turns.get(turn) ?? { ...emptyTurn(turn, model), askedAt: Date.parse(fact.at) };
      known.hasCompaction ||= purpose === 'compact';
      turns.set(turn, Object.assign(known, { model }));
    }
    if (fact.type !== 'model.answered' && fact.type !== 'model.failed') continue;
    const turn = turns.get(fact.data.turn);
    if (turn === undefined) continue;
    turn.ms = Date.parse(fact.at) - turn.askedAt;
    if (fact.type === 'model.failed') turn.failures++;
    const { usage, costUsd } = fact.data;
    if (usage === null) continue;
    turn.input += usage.input;
    turn.cached += usage.cached;
    turn.output += usage.output;
    turn.reasoning += usage.reasoning;
    turn.isEstimated ||= usage.estimated;
    if (costUsd !== null) turn.costUsd = (turn.costUsd ?? 0) + costUsd;
  }
  return [...turns.values()].map(({ askedAt: _, ...turn }) => turn);
}

function emptyTurn(turn: number, model: string): TurnCost {
  return {
    turn,
    model,
    input: 0,
    cached: 0,
    output: 0,
    reasoning: 0,
    costUsd: null,
    ms: 0,
    failures: 0,
    isEstimated: false,
    hasCompaction: false,
  };
}
