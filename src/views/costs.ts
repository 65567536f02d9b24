// What runs cost, grouped for `retinue costs`. Pure.
import type { Tokens } from '../contract/outcome.ts';
import type { CostRow } from '../contract/view.ts';

export const costGroupings = ['agent', 'model', 'day', 'tree'] as const;
export type CostGrouping = (typeof costGroupings)[number];

export interface CostGroup {
  name: string;
  runs: number;
  tokens: Tokens;
  /** Cached tokens as a share of the input, from 0 to 1. */
  cachedShare: number;
  /** Null if no price is known for any of it. */
  costUsd: number | null;
}

type Summand = Pick<CostGroup, 'name' | 'runs' | 'tokens' | 'costUsd'>;

/** Days in order; everything else by cost, the highest first. */
export function groupCosts(rows: CostRow[], by: Exclude<CostGrouping, 'tree'>): CostGroup[] {
  const named = rows.map(({ day, agent, model, ...row }) => ({ ...row, name: { day, agent, model: nameModel(model) }[by] ?? 'unknown' }));
  const groups = [...Map.groupBy(named, ({ name }) => name).values()].map(sumCosts);
  return by === 'day' ? groups.sort((a, b) => (a.name < b.name ? -1 : 1)) : sortByCost(groups);
}

/** Evals that judge recorded work again have a model for each recorded run (`recorded/RUN`): one line for all of them. */
function nameModel(model: string | null): string | null {
  return model?.startsWith('recorded/') ? 'recorded' : model;
}

export function sortByCost(groups: CostGroup[]): CostGroup[] {
  return groups.sort((a, b) => (b.costUsd ?? 0) - (a.costUsd ?? 0) || b.tokens.input + b.tokens.output - a.tokens.input - a.tokens.output);
}

/** The sum, with the name of the first. */
export function sumCosts(rows: readonly Summand[]): CostGroup {
  const tokens: Tokens = { input: 0, output: 0, cached: 0, reasoning: 0 };
  let costUsd: number | null = null;
  let runs = 0;
  let isUnpriced = false;
  for (const row of rows) {
    for (const key of Object.keys(tokens) as (keyof Tokens)[]) tokens[key] += row.tokens[key];
    if (row.costUsd !== null) costUsd = (costUsd ?? 0) + row.costUsd;
    else if (row.tokens.input + row.tokens.output > 0) isUnpriced = true;
    runs += row.runs;
  }
  // A run that cost nothing does not make an unknown price known.
  if (isUnpriced && costUsd === 0) costUsd = null;
  return { name: rows[0]?.name ?? '', runs, tokens, cachedShare: cachedShare(tokens), costUsd };
}

export function cachedShare({ input, cached }: Pick<Tokens, 'input' | 'cached'>): number {
  return input === 0 ? 0 : Math.min(1, cached / input);
}
