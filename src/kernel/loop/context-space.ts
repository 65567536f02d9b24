// Makes space in the conversation before a turn that nears the end of the model's window, or after an order to compact. Old tool results are removed if that
// is enough; otherwise the run's own model, or a cheaper one, writes a summary.
import type { CompactionSettings } from '../../contract/compaction.ts';
import type { CallRef } from '../../conversation/tool-calls.ts';
import type { ModelHandle, Thinking } from '../../ports/model.ts';
import { createModelRequester } from '../admission/admission.ts';
import { resolveEffort } from '../admission/effort.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import type { RunState } from '../state/state.ts';
import { canCompact, isCompactionDue } from './compaction.ts';
import { planPruning } from './pruning.ts';

export type ContextPlan = { do: 'compact' } | { do: 'prune'; calls: CallRef[] };

/** `isRefused`: a compaction is not affordable now. */
export function planContext(
  run: Run,
  { model, thinking, requestBytes, isRefused }: { model: ModelHandle; thinking: Thinking | null; requestBytes: number; isRefused: boolean },
  { settings }: Services,
): ContextPlan {
  const { startAt, contextWindow } = windowOf(model, settings.compaction, run.state);
  const answerTokens = (model.maxOutputTokens ?? 0) + (thinking?.isExtra ? thinking.tokens : 0);
  const limits = run.depth > 0 ? (run.dialect.setup.context ?? {}) : {};
  const { calls, isShort, tokens, aim } = planPruning(run.state, requestBytes, { contextWindow, answerTokens, limits, startAt });
  const isFull = contextWindow !== null && tokens + findSummaryLength(contextWindow) > contextWindow;
  const isWanted = isShort && settings.compaction?.enabled !== false && isCompactionDue(run.state, { aim, isFull });
  const canTry = !isRefused && canCompact(run.state);
  return canTry && (isWanted || run.compactRequest !== null) ? { do: 'compact' } : { do: 'prune', calls };
}

/** The window of the model, and the share of it at which space is made. */
function windowOf(
  { id, contextWindow, maxOutputTokens }: ModelHandle,
  { models = {}, startAt }: CompactionSettings = {},
  { refusal }: Pick<RunState, 'refusal'> = { refusal: null },
) {
  const own = Object.hasOwn(models, id) ? models[id] : undefined;
  // A refusal is more exact than the known window. The refused request included the space for the answer.
  const learned = refusal?.model === id ? refusal.tokens + (maxOutputTokens ?? 0) : null;
  return {
    startAt: own?.startAt ?? startAt,
    contextWindow: learned === null ? contextWindow : Math.min(learned, contextWindow ?? learned),
  };
}

const minSummaryTokens = 512;
const maxSummaryTokens = 8192;
/** Assumed for a model without an effort setting. */
const defaultThinking: Thinking = { tokens: 4096, isExtra: false };

/**
 * The model that writes the summary, with the output limit for it. `named`: the model of an attempt before. A model that is not available, has no
 * price where cost is limited, or is too small for the conversation is replaced by the run's own.
 */
export async function findSummariser(
  run: Run,
  { own, named, requestBytes }: { own: ModelHandle; named: string | null; requestBytes: number },
  { models, settings }: Services,
): Promise<ModelHandle> {
  const { contextWindow } = windowOf(own, settings.compaction, run.state);
  const length = findSummaryLength(contextWindow);
  const name = named ?? settings.compaction?.model ?? own.id;
  const other = name === own.id ? null : await models.resolve(name, createModelRequester(run)).catch(() => null);
  const otherWindow = other && windowOf(other, settings.compaction).contextWindow;
  const fits = otherWindow === null || requestBytes / 3 + length <= otherWindow;
  const isUsable = other !== null && fits && (other.price !== null || !run.budget.limitsCost());
  const chosen = isUsable ? other : own;
  const { tokens, isExtra } = (chosen === own ? resolveEffort(run, own)?.thinking : null) ?? defaultThinking;
  // Thinking that counts as output needs room of its own, or no text would be left.
  const room = ((isUsable ? otherWindow : contextWindow) ?? Number.POSITIVE_INFINITY) - Math.ceil(requestBytes / 3);
  const limit = Math.max(length, Math.min(length + (isExtra ? 0 : tokens), room));
  return { ...chosen, maxOutputTokens: Math.min(chosen.maxOutputTokens ?? limit, limit) };
}

function findSummaryLength(contextWindow: number | null): number {
  const cap = contextWindow === null ? maxSummaryTokens / 2 : Math.floor(contextWindow / 8);
  return Math.min(maxSummaryTokens, Math.max(minSummaryTokens, cap));
}
