// Dialect results as MCP results. Text of delegated runs is not fenced here, because the client's model is not ours; control characters are
// removed.
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { ErrorInfo } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { refuseCall, refuseInput } from '../kernel/delegation/dialect-tools.ts';
import type { DialectContext, DialectResult, DialectTool, ResultPart } from '../ports/dialect.ts';
import { cleanJson } from '../text/clean-json.ts';
import { cleanText, cutBytes, formatTruncation } from '../text/cut.ts';

/**
 * Structured content is repeated as JSON in a text block, for clients that read only text, unless the dialect has a text beside it.
 * `maxBytes`: null if the client has no limit of its own. A part that is cut ends with a notice.
 */
export function toCallToolResult({ parts, isError, structured, besideText }: DialectResult, maxBytes: number | null): CallToolResult {
  const error = isError ? { isError } : {};
  const content = structured !== undefined && isObject(structured) ? (cleanJson(structured) as Record<string, Json>) : null;
  const structuredContent = content === null ? {} : { structuredContent: content };
  const text = content === null || besideText ? parts.map((part) => toText(part, maxBytes)).join('\n') : JSON.stringify(content);
  return { content: [{ type: 'text', text }], ...structuredContent, ...error };
}

function toText({ text, run, fitted }: ResultPart, maxBytes: number | null): string {
  if (run === undefined || maxBytes === null || fitted) return cleanText(text);
  const cut = cutBytes(text, maxBytes);
  return cut.keptBytes === cut.originalBytes ? cleanText(text) : `${cleanText(cut.text)}\n${formatTruncation(cut)}`;
}

/** The result of a call whose arguments the tool does not accept. */
export function createInvalidResult(tool: DialectTool, problem: string, context: DialectContext): CallToolResult {
  if (hasOwnErrors(tool)) return toCallToolResult(refuseInput(tool, problem, context), null);
  return createErrorResult(`invalid arguments for ${tool.name}: ${problem}`);
}

/** The result of a call that could not be made, in the shape of the tool's other results. */
export function createRefusedResult(tool: DialectTool, error: ErrorInfo, context: DialectContext): CallToolResult {
  return hasOwnErrors(tool) ? toCallToolResult(refuseCall(tool, error, context), null) : createErrorResult(error.message);
}

/** Tools with structured results answer errors in the same shape. */
function hasOwnErrors(tool: DialectTool): boolean {
  return tool.output !== undefined || tool.describeInvalid !== undefined;
}

export function createErrorResult(message: string): CallToolResult {
  return { content: [{ type: 'text', text: cleanText(message) }], isError: true };
}

/** The text that the client reads, without blocks about other runs. */
export function readFirstText({ content: [first] }: CallToolResult): string {
  return first?.type === 'text' ? first.text : '';
}

function isObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
