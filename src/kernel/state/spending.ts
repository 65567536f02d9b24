// What a run has spent: in all, and on models that are not its own.
import type { Usage } from '../../contract/content.ts';
import type { Tokens } from '../../contract/outcome.ts';
import { ownModel, type RunState } from './state.ts';

/** `model`: null if no request is open, as after damage; the call counts as one of the run's own model then. A call without usage adds nothing. */
export function addModelCall(
  state: RunState,
  model: string | null,
  { usage, costUsd }: { usage: Usage | null; costUsd: number | null },
): void {
  if (usage === null) return;
  addSpending(state, usage, costUsd);
  if (model === null || model === ownModel(state)) return;
  state.otherModels ??= [];
  let other = state.otherModels.find((each) => each.model === model);
  if (!other) {
    other = { model, tokens: { input: 0, output: 0, cached: 0, reasoning: 0 }, costUsd: 0 };
    state.otherModels.push(other);
  }
  addSpending(other, usage, costUsd);
}

/** The sum of costs is null once a price was unknown. */
export function addSpending(sum: Pick<RunState, 'tokens' | 'costUsd'>, used: Tokens | Usage, costUsd: number | null): void {
  const { tokens } = sum;
  tokens.input += used.input;
  tokens.output += used.output;
  tokens.cached += used.cached;
  tokens.reasoning += used.reasoning;
  sum.costUsd = sum.costUsd === null || costUsd === null ? null : sum.costUsd + costUsd;
}
