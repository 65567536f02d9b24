// Cost limits of models without a price.
import { RetinueError } from '../contract/error.ts';
import type { EffectiveLimit, EffectiveLimits, LimitSource } from '../contract/limits.ts';
import type { ModelHandle } from '../ports/model.ts';
import { isCostSetByHand } from '../rules/limits.ts';
import type { Run } from './run.ts';

/**
 * Without a price, cost cannot be limited. A limit set by hand, and one that the parent has, are errors; only a tree without any known price loses the
 * built-in limit, with a notice.
 */
export function limitUnpricedCost(limits: EffectiveLimits, model: ModelHandle, parent: Run | null): string[] {
  const { value } = limits.maxCostUsd;
  if (model.price !== null || value === null) return [];
  const isParents = parent?.work && parent.grant.limits.maxCostUsd.value !== null;
  if (isParents || isCostSetByHand(limits, parent?.hasExplicitCostLimit ?? false))
    throw unknownPriceError(model.id, describeCostLimit(limits.maxCostUsd));
  limits.maxCostUsd = { from: 'none', value: null };
  return parent?.work ? [] : [`the price of ${model.id} is unknown: this run has no cost limit`];
}

const costLimitSources: Partial<Record<LimitSource, string>> = {
  config: '`limits.maxCostUsd` of the configuration',
  command: 'the command (`--budget-usd`)',
  agent: 'the agent',
  brief: 'the brief (`--budget-usd`)',
  parent: 'its parent run',
};

function describeCostLimit({ value, from }: EffectiveLimit): string {
  return `the cost limit of $${value} from ${costLimitSources[from] ?? from}`;
}

export function unknownPriceError(model: string, limit: string): RetinueError {
  const advice = `set \`prices\` for it, or \`prices["*"]\` for all models without a price, or remove ${limit}`;
  return new RetinueError('price_unknown', `the price of ${model} is unknown, so its cost cannot be limited: ${advice}`);
}
