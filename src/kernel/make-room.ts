// What happens before a turn when the conversation nears the end of the model's window, or when somebody ordered a compaction: old tool results are removed
// if that is enough; otherwise the conversation is compacted, by the run's own model or a cheaper one.
import type { CompactionSettings } from '../contract/compaction.ts';
import type { CallRef } from '../conversation/tool-calls.ts';
import type { ModelHandle } from '../ports/model.ts';
import { modelRequester } from './admission.ts';
import { canCompact, isCompactionDue } from './compaction.ts';
import { planPruning } from './pruning.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import type { RunState } from './state.ts';

export type ContextPlan = { do: 'compact' } | { do: 'prune'; calls: CallRef[] };

/** `isRefused`: a compaction is not affordable now. */
export function planContext(
  run: Run,
  { model, requestBytes, isRefused }: { model: ModelHandle; requestBytes: number; isRefused: boolean },
  { settings }: Services,
): ContextPlan {
  const { maxOutputTokens } = model;
  const { startAt, contextWindow } = windowOf(model, settings.compaction, run.state);
  const limits = run.depth > 0 ? (run.dialect.setup.context ?? {}) : {};
  const { calls, isShort } = planPruning(run.state, requestBytes, { contextWindow, maxOutputTokens, limits, startAt });
  const isWanted = isShort && settings.compaction?.enabled !== false && isCompactionDue(run.state);
  const canTry = !isRefused && canCompact(run.state);
  return canTry && (isWanted || run.compactRequest !== null) ? { do: 'compact' } : { do: 'prune', calls };
}

/** The window as configured for the model, and the share of it at which room is made. */
function windowOf(
  { id, contextWindow, maxOutputTokens }: ModelHandle,
  { models = {}, startAt }: CompactionSettings = {},
  { refusal }: Pick<RunState, 'refusal'> = { refusal: null },
) {
  const own = Object.hasOwn(models, id) ? models[id] : undefined;
  const stated = own?.contextWindow ?? contextWindow;
  // What a model has refused tells more than what is known about it. The room for the answer was part of the refused request.
  const learned = refusal?.model === id ? refusal.tokens + (maxOutputTokens ?? 0) : null;
  return { startAt: own?.startAt ?? startAt, contextWindow: learned === null ? stated : Math.min(learned, stated ?? learned) };
}

const minSummaryTokens = 512;
const maxSummaryTokens = 8192;

/**
 * The model that writes the summary, with the length of the summary as its output limit. `named`: the model of an attempt before. A model that is not available, has no
 * price where cost is limited, or is too small for the conversation is replaced by the run's own.
 */
export async function findSummariser(
  run: Run,
  { own, named, requestBytes }: { own: ModelHandle; named: string | null; requestBytes: number },
  { models, settings }: Services,
): Promise<ModelHandle> {
  const { contextWindow } = windowOf(own, settings.compaction, run.state);
  const cap = contextWindow === null ? maxSummaryTokens / 2 : Math.floor(contextWindow / 8);
  const length = Math.min(maxSummaryTokens, Math.max(minSummaryTokens, cap));
  const name = named ?? settings.compaction?.model ?? own.id;
  const other = name === own.id ? null : await models.resolve(name, modelRequester(run)).catch(() => null);
  const otherWindow = other && windowOf(other, settings.compaction).contextWindow;
  const fits = otherWindow === null || requestBytes / 3 + length <= otherWindow;
  const isUsable = other !== null && fits && (other.price !== null || !run.budget.limitsCost());
  const chosen = isUsable ? other : own;
  return { ...chosen, maxOutputTokens: Math.min(chosen.maxOutputTokens ?? length, length) };
}
