// Selects old tool results to remove when a conversation nears the end of the model's window. Pure; removing them is a fact.
import type { CallRef } from '../../conversation/tool-calls.ts';
import type { ContextLimits } from '../../ports/dialect.ts';
import { currentCalls, type RunState } from '../state/state.ts';

/** Results of the latest turns stay, because the model is using them. */
const defaults = { startAt: 0.8, keptTurns: 2 };
/** Pruning continues down to this share of the size at which it starts. */
const shrinkTo = 0.75;
const minResultLength = 500;

interface PruneOptions {
  contextWindow: number | null;
  /** What the answer may take of the window. */
  answerTokens: number;
  limits?: ContextLimits;
  /** The share of the model's window that the configuration sets. */
  startAt?: number | undefined;
}

export interface Pruning {
  /** The calls whose results to remove, oldest first, until the request is well below the window; none while there is room. */
  calls: CallRef[];
  /** The model's own window is nearly full, and removing results does not make enough room. */
  isShort: boolean;
  /** About the tokens of the request, and those at which it would be well below the model's window. */
  tokens: number;
  aim: number;
}

const noPruning: Pruning = { calls: [], isShort: false, tokens: 0, aim: Number.POSITIVE_INFINITY };

export function planPruning(state: RunState, requestBytes: number, options: PruneOptions): Pruning {
  const { contextWindow, answerTokens, limits = {} } = options;
  const window = Math.min(contextWindow ?? Number.POSITIVE_INFINITY, limits.maxTokens ?? Number.POSITIVE_INFINITY);
  if (window === Number.POSITIVE_INFINITY) return noPruning;
  const configured = options.startAt ?? defaults.startAt;
  const modelWindow = contextWindow ?? Number.POSITIVE_INFINITY;
  const modelRoom = Math.min(modelWindow * configured, modelWindow - answerTokens);
  const room = Math.min(window * (limits.startAt ?? configured), modelWindow - answerTokens);
  // The provider's count of the last request is more exact than a third of the bytes.
  const { countedTokens } = state.conversation;
  const added = currentCalls(state).reduce((sum, call) => sum + (call.finished?.output.length ?? 0), 0);
  const tokens = countedTokens === null ? requestBytes / 3 : countedTokens + added / 3;
  if (tokens <= room) return noPruning;
  let excess = tokens - room * shrinkTo;
  const selected: CallRef[] = [];
  for (const { turn, index, finished } of findCandidates(state, limits.keptTurns)) {
    if (excess <= 0) break;
    selected.push({ index, turn });
    excess -= (finished?.output.length ?? 0) / 3;
  }
  // A dialect's own limit is not the window: it never causes a compaction.
  const isNearWindow = contextWindow !== null && tokens > modelRoom;
  return { calls: selected, isShort: excess > 0 && isNearWindow, tokens, aim: modelRoom * shrinkTo };
}

/** Every call whose result could be removed, for a provider that refuses the request as too long. */
export function prunableCalls(state: RunState): CallRef[] {
  return findCandidates(state).map(({ turn, index }) => ({ index, turn }));
}

function findCandidates({ conversation, guards }: RunState, keptTurns = defaults.keptTurns) {
  return conversation.calls.filter(
    (call) => !call.pruned && call.turn <= guards.turns - keptTurns && (call.finished?.output.length ?? 0) > minResultLength,
  );
}
