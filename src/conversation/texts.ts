// How things are told to a model: the ends of children, messages, limits. Pure texts; `fence` guards what a child wrote (invariant 10).
import type { LimitCause } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { ResultPart } from '../ports/dialect.ts';
import { cleanText, cutBytes, fence } from '../text/cut.ts';
import { markInvisible } from '../text/invisible.ts';

/** Parts of a delegation tool's result as one text: what a child wrote is fenced and cut, the rest stands as it is. */
export function renderResultParts(parts: ResultPart[], maxBytes: number): string {
  return parts
    .map((part) => (part.run === undefined ? part.text : fence(cutBytes(markInvisible(part.text), maxBytes).text, part.run)))
    .join('\n');
}

/** What the parent's model reads when a child ended in the background. `more`: how it gets at what was cut, where its tools have a way. */
export function childEndedText(outcome: Outcome, more: string | null): string {
  const name = outcome.label ?? outcome.agent ?? 'child';
  const head = `[run ${outcome.runId} · ${outcome.status} · ${outcome.turns} turns] The delegated run "${cleanText(name)}" has ended.`;
  const error = outcome.error ? `\n${outcome.error.code}: ${cleanText(outcome.error.message)}` : '';
  const rest = outcome.truncated
    ? `\n(${outcome.truncated.keptBytes} of ${outcome.truncated.originalBytes} bytes shown${more === null ? '' : `; ${more} has the rest`}.)`
    : '';
  const data = outcome.data === undefined ? '' : `\n${fence(cleanText(JSON.stringify(outcome.data)), outcome.runId)}`;
  const text = outcome.summary === '' ? '' : `\n${fence(cleanText(outcome.summary), outcome.runId)}`;
  return `${head}${error}${text}${data}${rest}`;
}

export function messageText(from: string, text: string): string {
  return `[message from ${cleanText(from)}]\n${cleanText(text)}`;
}

const limitNames: Record<LimitCause, string> = { max_turns: 'turns', max_tokens: 'tokens', max_cost: 'cost' };

export function wrapUpText(cause: LimitCause): string {
  return (
    `You have reached your limit of ${limitNames[cause]}: no more tools can be called. Give your final answer now from what you know: ` +
    'what you did and found, what is unfinished, and what should be done next.'
  );
}

export const nudgeTexts = {
  empty: 'Your last answer was empty. Go on with the task, or give your final answer as text.',
  cut: 'Your last answer was cut off at the output limit. Give your complete final answer again, shorter.',
  result: 'The task asks for a structured result: call submit_result with it.',
};
