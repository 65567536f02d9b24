// Loop version 1, frozen: journals of this version must replay byte for byte, so nothing here may change. It does not share helpers with later
// versions for the same reason.
import type { LimitCause } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { LoopVersion } from './loop-texts.ts';

const invisible =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

function clean(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, '\n').replace(invisible, '');
}

const fenceTag = /<(?=\s*\/?\s*run-output)/gi;

function fence(text: string, run: string): string {
  return `<run-output run="${run}">\n${text.replace(fenceTag, '&lt;')}\n</run-output>`;
}

function childEnded(outcome: Outcome, readTool: string | null): string {
  const name = outcome.label ?? outcome.agent ?? 'child';
  const head = `[run ${outcome.runId} · ${outcome.status} · ${outcome.turns} turns] The delegated run "${clean(name)}" has ended.`;
  const error = outcome.error ? `\n${outcome.error.code}: ${clean(outcome.error.message)}` : '';
  const rest = outcome.truncated
    ? `\n(${outcome.truncated.keptBytes} of ${outcome.truncated.originalBytes} bytes shown${readTool === null ? '' : `; ${readTool} has the rest`}.)`
    : '';
  const data = outcome.data === undefined ? '' : `\n${fence(clean(JSON.stringify(outcome.data)), outcome.runId)}`;
  const text = outcome.summary === '' ? '' : `\n${fence(clean(outcome.summary), outcome.runId)}`;
  return `${head}${error}${text}${data}${rest}`;
}

const limitNames: Record<LimitCause, string> = { max_turns: 'turns', max_tokens: 'tokens', max_cost: 'cost' };

export const loopV1: LoopVersion = {
  version: 1,
  limits: { repeatRefused: 4, repeatFatal: 8, maxRepairs: 3 },
  readTool: (dialect) => (dialect === 'native' ? 'delegate_read' : null),
  childEnded,
  message: (from, text) => `[message from ${clean(from)}]\n${clean(text)}`,
  wrapUp: (cause) =>
    `You have reached your limit of ${limitNames[cause]}: no more tools can be called. Give your final answer now from what you know: ` +
    'what you did and found, what is unfinished, and what should be done next.',
  callsDropped: (count) =>
    `${count} more tool calls of your last answer were dropped, because it had too many. Ask again for what you still need.`,
  resultPruned: '[the result of this call was removed to make room; call the tool again if you need it]',
  nudges: {
    empty: 'Your last answer was empty. Go on with the task, or give your final answer as text.',
    cut: 'Your last answer was cut off at the output limit. Give your complete final answer again, shorter.',
    result: 'The task asks for a structured result: call submit_result with it.',
  },
  endings: {
    limit: (limit) => `the limit of ${limit} was met`,
    loop: (times) => `the same tool calls were repeated ${times} times in a row`,
    malformed: (times) => `tool calls did not parse ${times} times in a row`,
    resultInvalid: (times) => `the result broke its schema ${times} times`,
    resultMissing: 'the model did not submit the result that was asked for',
    refused: "the provider's content filter stopped the answer",
    empty: 'the model answered nothing, twice',
  },
};
