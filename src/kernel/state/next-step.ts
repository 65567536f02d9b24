// What a run does next, from its state alone. Pure: a live, a resumed and a replayed run take the same steps.
//
// Not here: what only the live run knows (deadline, cancel, an exhausted budget). Those end the run from outside.
import type { Draft, LimitCause, Purpose } from '../../contract/fact.ts';
import type { CallState } from '../../conversation/request.ts';
import { toolCallParts } from '../../conversation/tool-calls.ts';
import { composeCompaction } from '../loop/compaction.ts';
import { completedEnding, createFailedEnding, type Ending } from './outcome.ts';
import { answerToText, type LivePhase, livePhase, loopVersionOf, type RecordedAnswer, type RunState } from './state.ts';

export type Step =
  /** `budget`: the shared budget that is the cause. */
  | { do: 'ask'; purpose: Purpose; cause: LimitCause | null; budget?: string | undefined }
  | { do: 'tools'; calls: CallState[] }
  /** The model has written a summary of the conversation: use it. */
  | { do: 'compact'; draft: Extract<Draft, { type: 'context.compacted' }> }
  | { do: 'nudge'; draft: Extract<Draft, { type: 'model.nudged' }> }
  /** The model is done, but children are still running: wait for one of them, or for a message. */
  | { do: 'park' }
  | { do: 'end'; ending: Ending };

/** The next step of a started run. */
export function nextStep(state: RunState): Step {
  const phase = livePhase(state);
  if (phase.name === 'asking') return stepForOpenRequest(phase, state);
  if (phase.name === 'compacting') {
    const data = phase.answer && composeCompaction(state, phase.answer);
    return data ? { do: 'compact', draft: { type: 'context.compacted', data } } : { do: 'ask', purpose: 'compact', cause: null };
  }
  if (phase.name !== 'answered') return askForTurn(state);
  const open = phase.calls.filter((call) => !call.finished);
  if (open.length > 0) return { do: 'tools', calls: open };
  if (phase.answer.cause) return end(limitEnding(phase.answer.cause, state, phase.answer.budget));
  return endingByGuards(state) ?? stepAfterAnswer(state, phase.answer, phase.nudge);
}

function stepForOpenRequest({ asked, failure }: Extract<LivePhase, { name: 'asking' }>, state: RunState): Step {
  const { purpose, cause, budget } = asked;
  if (failure?.next !== 'compact') return { do: 'ask', purpose, cause, budget };
  if (failure.again) return { do: 'ask', purpose: 'compact', cause: null };
  // The request is too long, and there is no summary.
  if (cause) return end(limitEnding(cause, state, budget));
  return end(createFailedEnding(failure.error.code, failure.error.message, failure.error.retryable));
}

/** The ending of a run that reached a limit. `budget`: the shared budget whose limit it is. */
export function limitEnding(cause: LimitCause, state: RunState, budget: string | null = null): Ending {
  const { maxTurns, maxTokens, maxCostUsd } = state.created.data.grant.limits;
  const limit = { max_turns: `${maxTurns.value} turns`, max_tokens: `${maxTokens.value} tokens`, max_cost: `$${maxCostUsd.value}` }[cause];
  const text = budget === null ? limit : `the budget ${budget}`;
  return { status: 'exhausted', code: cause, message: loopVersionOf(state).endings.limit(text) };
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
  if (repeats >= limits.repeatFatal) return end(createFailedEnding('loop', endings.loop(repeats)));
  if (malformed.turns > limits.maxRepairs) return end(createFailedEnding('malformed', endings.malformed(malformed.turns)));
  if (state.data === undefined && invalidResults > limits.maxRepairs)
    return end(createFailedEnding('result_invalid', endings.resultInvalid(invalidResults)));
  return null;
}

function stepAfterAnswer(state: RunState, answer: RecordedAnswer, nudge: { reason: string } | null): Step {
  const { nudges, endings } = loopVersionOf(state);
  const { nudged } = state.guards;
  if (state.data !== undefined && !hasUnreadMessage(state)) return finish(state);
  if (nudge) return nudge.reason === 'summary' ? { do: 'ask', purpose: 'summary', cause: null } : askForTurn(state);
  if (toolCallParts(answer.content).length > 0 || state.conversation.inbox.length > 0) return askForTurn(state);
  if (answer.purpose === 'summary') return finish(state);
  if (answer.finish === 'content-filter') return end(createFailedEnding('refused', endings.refused));
  if (answerToText(answer.content, state) === '')
    return nudged.empty > 0 ? end(createFailedEnding('empty', endings.empty)) : nudgeWith(state, 'empty', nudges.empty);
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
    if (nudged.result + invalidResults >= limits.maxRepairs) return end(createFailedEnding('result_invalid', endings.resultMissing));
    return nudgeWith(state, 'result', nudges.result);
  }
  if (state.openChildren > 0) return { do: 'park' };
  if (wanted?.prompt !== undefined && nudged.summary === 0) return nudgeWith(state, 'summary', wanted.prompt);
  return null;
}

function finish(state: RunState): Step {
  return state.openChildren > 0 && state.data === undefined ? { do: 'park' } : end(completedEnding);
}

function nudgeWith(state: RunState, reason: 'empty' | 'cut' | 'result' | 'summary', text: string): Step {
  return { do: 'nudge', draft: { type: 'model.nudged', data: { turn: state.guards.turns, reason, text } } };
}

function end(ending: Ending): Step {
  return { do: 'end', ending };
}
