// What a run does next, read off its state alone. Pure: the live loop, a resumed one and a replayed one take the same way.
//
// Not here: what only the moment knows (a deadline, a cancel, a budget that does not fit). Those end the run from outside.
import type { Draft, LimitCause, Purpose } from '../contract/fact.ts';
import type { CallState } from '../conversation/request.ts';
import { nudgeTexts } from '../conversation/texts.ts';
import { callParts, textOf } from './calls.ts';
import { completed, type Ending, failed, openChildren } from './fold.ts';
import type { RunState } from './state.ts';

/** The same call this often in a row is answered without being made, and then ends the run. */
export const repeatRefused = 4;
export const repeatFatal = 8;
export const maxRepairs = 3;

export type Step =
  | { do: 'ask'; purpose: Purpose; cause: LimitCause | null }
  | { do: 'tools'; calls: CallState[] }
  | { do: 'nudge'; draft: Extract<Draft, { type: 'model.nudged' }> }
  /** Everything is said, but children are still at work: wait for one of them, or for a message. */
  | { do: 'park' }
  | { do: 'end'; ending: Ending };

export function nextStep(state: RunState): Step {
  if (state.asked) return { do: 'ask', purpose: state.asked.purpose, cause: state.asked.cause };
  if (!state.answer) return askTurn(state);
  const open = state.calls.filter((call) => !call.finished);
  if (open.length > 0) return { do: 'tools', calls: open };
  if (state.answer.cause) return { do: 'end', ending: exhausted(state.answer.cause, state) };
  return fatal(state) ?? afterAnswer(state, state.answer);
}

export function exhausted(cause: LimitCause, state: RunState): Ending {
  const { maxTurns, maxTokens, maxCostUsd } = state.created.data.grant.limits;
  const text = { max_turns: `${maxTurns.value} turns`, max_tokens: `${maxTokens.value} tokens`, max_cost: `$${maxCostUsd.value}` }[cause];
  return { status: 'exhausted', code: cause, message: `the limit of ${text} was met` };
}

function askTurn(state: RunState): Step {
  return atTurnLimit(state) ? { do: 'ask', purpose: 'wrap-up', cause: 'max_turns' } : { do: 'ask', purpose: 'turn', cause: null };
}

function atTurnLimit(state: RunState): boolean {
  const { maxTurns } = state.created.data.grant.limits;
  return maxTurns.value !== null && state.turns >= maxTurns.value;
}

function fatal(state: RunState): Step | null {
  if (state.repeats >= repeatFatal) return end(failed('loop', `the same tool calls were repeated ${state.repeats} times in a row`));
  if (state.malformed.turns > maxRepairs)
    return end(failed('malformed', `tool calls did not parse ${state.malformed.turns} times in a row`));
  if (state.data === undefined && state.invalidResults > maxRepairs) {
    return end(failed('result_invalid', `the result broke its schema ${state.invalidResults} times`));
  }
  return null;
}

function afterAnswer(state: RunState, answer: NonNullable<RunState['answer']>): Step {
  if (state.data !== undefined && !isSteered(state)) return finish(state);
  if (state.nudge) return state.nudge.reason === 'summary' ? { do: 'ask', purpose: 'summary', cause: null } : askTurn(state);
  if (callParts(answer.content).length > 0 || state.inbox.length > 0) return askTurn(state);
  if (answer.purpose === 'summary') return finish(state);
  if (answer.finish === 'content-filter') return end(failed('refused', "the provider's content filter stopped the answer"));
  if (textOf(answer.content) === '') {
    if (state.nudged.empty > 0) return end(failed('empty', 'the model answered nothing, twice'));
    return nudge(state, 'empty', nudgeTexts.empty);
  }
  if (answer.finish === 'length' && state.nudged.cut === 0) return nudge(state, 'cut', nudgeTexts.cut);
  return wanted(state) ?? finish(state);
}

/** Whether somebody has said something that the model can still be told. */
function isSteered(state: RunState): boolean {
  return !atTurnLimit(state) && state.inbox.some((item) => item.kind === 'message');
}

/** A structured result that is still missing, and the second prompt for the summary. */
function wanted(state: RunState): Step | null {
  const form = state.created.data.brief.result;
  if (form?.schema) {
    const tries = state.nudged.result + state.invalidResults;
    if (tries >= maxRepairs) return end(failed('result_invalid', 'the model did not submit the result that was asked for'));
    return nudge(state, 'result', nudgeTexts.result);
  }
  if (openChildren(state) > 0) return { do: 'park' };
  if (form?.prompt !== undefined && state.nudged.summary === 0) return nudge(state, 'summary', form.prompt);
  return null;
}

function finish(state: RunState): Step {
  return openChildren(state) > 0 && state.data === undefined ? { do: 'park' } : end(completed);
}

function nudge(state: RunState, reason: 'empty' | 'cut' | 'result' | 'summary', text: string): Step {
  return { do: 'nudge', draft: { type: 'model.nudged', data: { turn: state.turns, reason, text } } };
}

function end(ending: Ending): Step {
  return { do: 'end', ending };
}
