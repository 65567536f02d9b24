// What a run does next, from its state alone. Pure: a live, a resumed and a replayed run take the same steps.
//
// Not here: what only the live run knows (deadline, cancel, an exhausted budget). Those end the run from outside.
import type { Draft, LimitCause, Purpose } from '../contract/fact.ts';
import type { CallState } from '../conversation/request.ts';
import { contentToText, toolCallParts } from '../conversation/tool-calls.ts';
import { completed, type Ending, failed } from './outcome.ts';
import { livePhase, loopVersionOf, type RecordedAnswer, type RunState } from './state.ts';

export type Step =
  | { do: 'ask'; purpose: Purpose; cause: LimitCause | null }
  | { do: 'tools'; calls: CallState[] }
  | { do: 'nudge'; draft: Extract<Draft, { type: 'model.nudged' }> }
  /** The model is done, but children are still running: wait for one of them, or for a message. */
  | { do: 'park' }
  | { do: 'end'; ending: Ending };

/** The next step of a started run. */
export function nextStep(state: RunState): Step {
  const phase = livePhase(state);
  if (phase.name === 'asking') return { do: 'ask', purpose: phase.asked.purpose, cause: phase.asked.cause };
  if (phase.name !== 'answered') return askForTurn(state);
  const open = phase.calls.filter((call) => !call.finished);
  if (open.length > 0) return { do: 'tools', calls: open };
  if (phase.answer.cause) return end(limitEnding(phase.answer.cause, state));
  return endingByGuards(state) ?? stepAfterAnswer(state, phase.answer, phase.nudge);
}

/** The ending of a run that reached a limit. */
export function limitEnding(cause: LimitCause, state: RunState): Ending {
  const { maxTurns, maxTokens, maxCostUsd } = state.created.data.grant.limits;
  const limit = { max_turns: `${maxTurns.value} turns`, max_tokens: `${maxTokens.value} tokens`, max_cost: `$${maxCostUsd.value}` }[cause];
  return { status: 'exhausted', code: cause, message: loopVersionOf(state).endings.limit(limit) };
}

function askForTurn(state: RunState): Step {
  return isAtTurnLimit(state) ? { do: 'ask', purpose: 'wrap-up', cause: 'max_turns' } : { do: 'ask', purpose: 'turn', cause: null };
}

function isAtTurnLimit(state: RunState): boolean {
  const { maxTurns } = state.created.data.grant.limits;
  return maxTurns.value !== null && state.guards.turns >= maxTurns.value;
}

/** Ends a run that repeats itself or keeps sending invalid calls or results. */
function endingByGuards(state: RunState): Step | null {
  const { repeats, malformed, invalidResults } = state.guards;
  const { limits, endings } = loopVersionOf(state);
  if (repeats >= limits.repeatFatal) return end(failed('loop', endings.loop(repeats)));
  if (malformed.turns > limits.maxRepairs) return end(failed('malformed', endings.malformed(malformed.turns)));
  if (state.data === undefined && invalidResults > limits.maxRepairs)
    return end(failed('result_invalid', endings.resultInvalid(invalidResults)));
  return null;
}

function stepAfterAnswer(state: RunState, answer: RecordedAnswer, nudge: { reason: string } | null): Step {
  const { nudges, endings } = loopVersionOf(state);
  const { nudged } = state.guards;
  if (state.data !== undefined && !hasUnreadMessage(state)) return finish(state);
  if (nudge) return nudge.reason === 'summary' ? { do: 'ask', purpose: 'summary', cause: null } : askForTurn(state);
  if (toolCallParts(answer.content).length > 0 || state.conversation.inbox.length > 0) return askForTurn(state);
  if (answer.purpose === 'summary') return finish(state);
  if (answer.finish === 'content-filter') return end(failed('refused', endings.refused));
  if (contentToText(answer.content) === '')
    return nudged.empty > 0 ? end(failed('empty', endings.empty)) : nudgeWith(state, 'empty', nudges.empty);
  if (answer.finish === 'length' && nudged.cut === 0) return nudgeWith(state, 'cut', nudges.cut);
  return stepForWantedResult(state) ?? finish(state);
}

/** Whether a message has arrived that the model can still answer. */
function hasUnreadMessage(state: RunState): boolean {
  return !isAtTurnLimit(state) && state.conversation.inbox.some((item) => item.kind === 'message');
}

/** A structured result that is still missing, or the second prompt for the summary. */
function stepForWantedResult(state: RunState): Step | null {
  const wanted = state.created.data.brief.result;
  const { nudged, invalidResults } = state.guards;
  const { nudges, endings, limits } = loopVersionOf(state);
  if (wanted?.schema) {
    if (nudged.result + invalidResults >= limits.maxRepairs) return end(failed('result_invalid', endings.resultMissing));
    return nudgeWith(state, 'result', nudges.result);
  }
  if (state.openChildren > 0) return { do: 'park' };
  if (wanted?.prompt !== undefined && nudged.summary === 0) return nudgeWith(state, 'summary', wanted.prompt);
  return null;
}

function finish(state: RunState): Step {
  return state.openChildren > 0 && state.data === undefined ? { do: 'park' } : end(completed);
}

function nudgeWith(state: RunState, reason: 'empty' | 'cut' | 'result' | 'summary', text: string): Step {
  return { do: 'nudge', draft: { type: 'model.nudged', data: { turn: state.guards.turns, reason, text } } };
}

function end(ending: Ending): Step {
  return { do: 'end', ending };
}
