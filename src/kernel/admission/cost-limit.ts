// Cost limits of models without a price.
import { RetinueError } from '../../contract/error.ts';
import type { EffectiveLimit, EffectiveLimits, LimitSource } from '../../contract/limits.ts';
import type { ModelHandle } from '../../ports/model.ts';
import { isCostSetByHand } from '../../rules/limits.ts';
import type { Run } from '../run.ts';

/**
 * Without a price, cost cannot be limited. A limit set by hand, and one that the parent has, are errors; only a tree without any known price loses the
 * built-in limit, with a notice.
 */
export function limitUnpricedCost(limits: EffectiveLimits, model: ModelHandle, parent: Run | null): string[] {
  const { value } = limits.maxCostUsd;
  if (model.price !== null || value === null) return [];
  const isParents = parent?.work && parent.grant.limits.maxCostUsd.value !== null;
  if (isParents || isCostSetByHand(limits, parent?.hasExplicitCostLimit ?? false)) throw unknownPriceError(model.id, limits.maxCostUsd);
  limits.maxCostUsd = { from: 'none', value: null };
  return parent?.work ? [] : [`the price of ${model.id} is unknown: this run has no cost limit`];
}

const costLimitSources: Partial<Record<LimitSource, string>> = {
  config: '`limits.maxCostUsd` of the configuration',
  command: '`limits.maxCostUsd` of the command',
  agent: 'the agent',
  brief: '`limits.maxCostUsd` of the brief',
  parent: 'the run or scope that delegates it',
};

/** Throws if a limit in US dollars cannot be kept. `limit` names it: one of a run, or a shared budget. */
export function unknownPriceError(model: string, limit: EffectiveLimit | string): RetinueError {
  const isGiven = typeof limit !== 'string' && (limit.from === 'command' || limit.from === 'brief');
  const name = typeof limit === 'string' ? limit : `the cost limit of $${limit.value} from ${costLimitSources[limit.from] ?? limit.from}`;
  const advice = `set \`prices\` for it, or \`prices["*"]\` for all models without a price, or remove ${name}`;
  const message = `the price of ${model} is unknown, so its cost cannot be limited: ${advice}`;
  return new RetinueError('price_unknown', message, isGiven ? { option: 'maxCostUsd' } : {});
}
