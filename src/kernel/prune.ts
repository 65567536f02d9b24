// Making room in a conversation that nears the end of the model's window: old tool results are taken out, as a fact. Pure.
import type { ContextLimits } from '../ports/dialect.ts';
import type { ModelHandle } from '../ports/model.ts';
import type { RunState } from './state.ts';

/** Results of the latest turns stay: the model is at work with them. */
const defaults = { startAt: 0.8, keptTurns: 2 };
/** Room is made down to this part of where it begins. */
const shrinkTo = 0.75;
const smallBytes = 500;

type Call = { turn: number; index: number };

/** The calls whose results go, oldest first, until the request is well below the window; none while there is room. */
export function pruneFor(
  state: RunState,
  requestBytes: number,
  { contextWindow, maxOutputTokens, limits = {} }: Pick<ModelHandle, 'contextWindow' | 'maxOutputTokens'> & { limits?: ContextLimits },
): Call[] {
  const window = Math.min(contextWindow ?? Number.POSITIVE_INFINITY, limits.maxTokens ?? Number.POSITIVE_INFINITY);
  if (window === Number.POSITIVE_INFINITY) return [];
  const startAt = limits.startAt ?? defaults.startAt;
  const room = Math.min(window * startAt, (contextWindow ?? Number.POSITIVE_INFINITY) - (maxOutputTokens ?? 0));
  // The provider's own count of the last request is better than a third of the bytes.
  const fresh = state.calls.reduce((sum, call) => sum + (call.finished?.output.length ?? 0), 0);
  const tokens = state.lastInput === null ? requestBytes / 3 : state.lastInput + fresh / 3;
  if (tokens <= room) return [];
  let tooMuch = tokens - window * startAt * shrinkTo;
  const pruned: Call[] = [];
  for (const call of candidates(state, limits.keptTurns)) {
    if (tooMuch <= 0) break;
    pruned.push({ index: call.index, turn: call.turn });
    tooMuch -= (call.finished?.output.length ?? 0) / 3;
  }
  return pruned;
}

/** Everything that could still go, for a provider that says the request is too long. */
export function prunable(state: RunState): Call[] {
  return candidates(state).map(({ turn, index }) => ({ index, turn }));
}

function candidates(state: RunState, keptTurns = defaults.keptTurns) {
  return state.allCalls.filter(
    (call) => !call.pruned && call.turn <= state.turns - keptTurns && (call.finished?.output.length ?? 0) > smallBytes,
  );
}
