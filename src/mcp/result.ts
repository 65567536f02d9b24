// Results as a client gets them. There are no fences over MCP: the client's model is not ours. Control characters are taken out.
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Json } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { DialectResult } from '../ports/dialect.ts';
import { cleanText, cutBytes } from '../text/cut.ts';

/** Structured content stands in one text block too, as JSON, for clients that read no other. */
export function resultOf({ parts, isError, structured }: DialectResult, maxBytes: number): CallToolResult {
  if (structured !== undefined && isObject(structured)) {
    const cleaned = cleanJson(structured) as Record<string, Json>;
    return { content: [{ type: 'text', text: JSON.stringify(cleaned) }], structuredContent: cleaned, ...flag(isError) };
  }
  const texts = parts.map(({ text, run }) => cleanText(run === undefined ? text : cutBytes(text, maxBytes).text));
  return { content: [{ type: 'text', text: texts.join('\n') }], ...flag(isError) };
}

export function refusal(message: string): CallToolResult {
  return { content: [{ type: 'text', text: cleanText(message) }], isError: true };
}

function flag(isError: boolean): { isError?: true } {
  return isError ? { isError } : {};
}

function isObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function cleanJson(value: Json): Json {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cleanJson(inner as Json)]));
}

const maxLines = 50;

/**
 * What has ended while nobody waited for it, as one more block of the next result, and the runs that it tells. With a tool to read results by
 * id (`reader`) a line each is enough; without one the results themselves stand here, as many as fit, and the others in a later result.
 */
export function endedSince(outcomes: Outcome[], reader: string | null, maxBytes: number): { text: string; told: string[] } | null {
  if (outcomes.length === 0) return null;
  const shown =
    reader === null ? wholeTexts(outcomes, maxBytes) : outcomes.slice(0, maxLines).map((each) => `${headOf(each)} ${lineOf(each)}`);
  const told = outcomes.slice(0, shown.length).map((outcome) => outcome.runId);
  const how = reader === null ? [] : [`The whole report of the first: ${reader} ${JSON.stringify({ id: told[0], part: 'summary' })}`];
  return { text: ['Ended since then, and not told before:', ...shown, ...how].join('\n'), told };
}

/** As many as fit, and the first in any case. */
function wholeTexts(outcomes: Outcome[], maxBytes: number): string[] {
  const texts: string[] = [];
  let left = maxBytes;
  for (const outcome of outcomes) {
    const { text, originalBytes, keptBytes } = cutBytes(fullText(outcome), left);
    if (originalBytes > keptBytes && texts.length > 0) break;
    texts.push(originalBytes > keptBytes ? `${text}\n(${keptBytes} of ${originalBytes} bytes shown.)` : text);
    left -= keptBytes;
  }
  return texts;
}

function headOf({ runId, status, turns, label }: Outcome): string {
  const facts = [`run ${runId}`, status, `${turns} ${turns === 1 ? 'turn' : 'turns'}`];
  if (label) facts.push(JSON.stringify(oneLine(label)));
  return `[${facts.join(' · ')}]`;
}

function lineOf(outcome: Outcome): string {
  return oneLine(outcome.error ? `${outcome.error.code}: ${outcome.error.message}` : outcome.summary);
}

function fullText(outcome: Outcome): string {
  const error = outcome.error ? [`${outcome.error.code}: ${oneLine(outcome.error.message)}`] : [];
  const data = outcome.data === undefined ? [] : [JSON.stringify(outcome.data)];
  const summary = outcome.summary === '' ? [] : [outcome.summary];
  return cleanText([headOf(outcome), ...error, ...summary, ...data].join('\n'));
}

function oneLine(text: string): string {
  const flat = cleanText(text).replace(/\s+/g, ' ').trim();
  return flat.length > 200 ? `${flat.slice(0, 200).toWellFormed()}…` : flat;
}
