// An unfinished eval keeps the rules, limits, budgets and concurrency that it began with. Flags that say something else are refused: a deny or a limit that
// is read and not applied would protect nothing.
import { commandLineOwner } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import type { Rule } from '../../contract/grant.ts';
import { canonical } from '../../text/canonical.ts';
import { shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import type { CommandSettings } from '../args/settings-flags.ts';
import type { StoredEval } from './evals.ts';

export interface EvalFlags {
  args: Args;
  limits: CommandSettings['limits'];
  /** Those of --allow and --deny, as runs record them. */
  rules: Rule[];
  concurrency: number;
}

/** Throws `usage` for flags that differ from those that the eval began with. A flag that is not given means that of the eval. */
export function assertSameFlags({ runId, input, grant }: StoredEval, { args, limits, rules, concurrency }: EvalFlags): void {
  const recordedRules = grant.rulesets.flatMap((ruleset) => ruleset.rules.filter(({ from }) => from === commandLineOwner));
  const isOther = {
    allow: canonical(rules) !== canonical(recordedRules),
    deny: canonical(rules) !== canonical(recordedRules),
    'budget-usd': limits.maxCostUsd !== grant.limits.maxCostUsd.value,
    'budget-tokens': limits.maxTokens !== grant.limits.maxTokens.value,
    // Those of the configuration are recorded with them.
    budget: args.values('budget').some((name) => !grant.budgets?.includes(name)),
    concurrency: concurrency !== input.concurrency,
  };
  const names = Object.entries(isOther).flatMap(([name, differs]) => (differs && args.has(name) ? [`--${name}`] : []));
  if (names.length === 0) return;
  const verb = names.length === 1 ? 'is' : 'are';
  throw new RetinueError(
    'usage',
    `${names.join(', ')} ${verb} not as when the eval ${shortId(runId)} began; an unfinished eval keeps its own rules, limits, budgets and concurrency; continue it without ${names.join(', ')}, or begin again with --new`,
  );
}
