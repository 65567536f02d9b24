// Dialect results as MCP results. Text of delegated runs is not fenced here, because the client's model is not ours; control characters are
// removed.
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Json } from '../contract/json.ts';
import type { DialectResult } from '../ports/dialect.ts';
import { cleanText, cutBytes } from '../text/cut.ts';

/** Structured content is repeated as JSON in a text block, for clients that read only text. */
export function toCallToolResult({ parts, isError, structured }: DialectResult, maxBytes: number): CallToolResult {
  const error = isError ? { isError } : {};
  if (structured !== undefined && isObject(structured)) {
    const cleaned = cleanJson(structured) as Record<string, Json>;
    return { content: [{ type: 'text', text: JSON.stringify(cleaned) }], structuredContent: cleaned, ...error };
  }
  const texts = parts.map(({ text, run }) => cleanText(run === undefined ? text : cutBytes(text, maxBytes).text));
  return { content: [{ type: 'text', text: texts.join('\n') }], ...error };
}

export function createErrorResult(message: string): CallToolResult {
  return { content: [{ type: 'text', text: cleanText(message) }], isError: true };
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
