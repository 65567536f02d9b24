// Loop version 2: plainer sentences; invisible characters are marked instead of removed; the tool that reads cut text is recorded with the run.
import type { LimitCause } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import { fence } from '../text/fence.ts';
import { markInvisible } from '../text/invisible.ts';
import type { LoopVersion } from './loop-texts.ts';

function childEnded(outcome: Outcome, readTool: string | null): string {
  const name = markInvisible(outcome.label ?? outcome.agent ?? 'child');
  const parts = [`[run ${outcome.runId} · ${outcome.status} · ${outcome.turns} turns] The run "${name}" that you delegated has ended.`];
  if (outcome.error) parts.push(`Error ${outcome.error.code}: ${markInvisible(outcome.error.message)}`);
  if (outcome.summary !== '') parts.push(fence(markInvisible(outcome.summary), outcome.runId));
  if (outcome.data !== undefined) parts.push(fence(markInvisible(JSON.stringify(outcome.data)), outcome.runId));
  if (outcome.truncated) {
    const { keptBytes, originalBytes } = outcome.truncated;
    const rest = readTool === null ? '' : ` Read the rest with ${readTool}.`;
    parts.push(`This is ${keptBytes} of ${originalBytes} bytes.${rest}`);
  }
  return parts.join('\n');
}

const limitNames: Record<LimitCause, string> = { max_turns: 'turns', max_tokens: 'tokens', max_cost: 'cost' };

export const loopV2: LoopVersion = {
  version: 2,
  limits: { repeatRefused: 4, repeatFatal: 8, maxRepairs: 3 },
  readTool: (_dialect, pinned) => pinned ?? null,
  childEnded,
  message: (from, text) => `[message from ${markInvisible(from)}]\n${markInvisible(text)}`,
  wrapUp: (cause) =>
    `You have reached your limit of ${limitNames[cause]}. You cannot call any more tools. Write your final answer now: ` +
    'what you did, what you found, what is unfinished, and what should be done next.',
  callsDropped: (count) =>
    `Your last answer had too many tool calls: the last ${count} were not made. Call them again if you still need them.`,
  resultPruned: '[This result was removed to make room. Call the tool again if you need it.]',
  nudges: {
    empty: 'Your last answer was empty. Continue the task, or write your final answer as text.',
    cut: 'Your last answer was cut off at the output limit. Write your complete final answer again, and make it shorter.',
    result: 'This task needs a structured result. Submit it by calling submit_result.',
  },
  endings: {
    limit: (limit) => `the limit of ${limit} was reached`,
    loop: (times) => `the model repeated the same tool calls ${times} times in a row`,
    malformed: (times) => `the model sent tool calls with invalid arguments ${times} times in a row`,
    resultInvalid: (times) => `the result did not match its schema ${times} times`,
    resultMissing: 'the model did not submit the structured result',
    refused: "the provider's content filter stopped the answer",
    empty: 'the model returned an empty answer twice in a row',
  },
};
