// Converts the answer of a server to a tool result.
import { z } from 'zod';
import type { ToolResult } from '../../ports/tool.ts';
import { cleanResultText, escapeControls } from '../text.ts';

const Part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  data: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  name: z.string().optional(),
  resource: z
    .looseObject({ uri: z.string(), mimeType: z.string().optional(), text: z.string().optional(), blob: z.string().optional() })
    .optional(),
});
type Part = z.infer<typeof Part>;

const Result = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional().catch(undefined),
});

/** Converts the answer to a call to text. Content that a model cannot read becomes a line that describes it. */
export function callResultToToolResult(answer: unknown): ToolResult {
  const taint = ['mcp'];
  const parsed = Result.safeParse(answer);
  if (!parsed.success) return { output: 'the server returned a malformed result', isError: true, taint };
  const { content = [], structuredContent, isError = false } = parsed.data;
  const parts = content.map((part) => Part.safeParse(part));
  const texts = parts.map((part) => (part.success ? partToText(part.data) : '[a malformed part]'));
  const hasText = parts.some((part) => part.success && (part.data.text ?? part.data.resource?.text) !== undefined);
  if (!hasText && structuredContent !== undefined) texts.push(cleanResultText(JSON.stringify(structuredContent)));
  return { output: texts.join('\n') || '(the result is empty)', isError, taint };
}

function partToText(part: Part): string {
  switch (part.type) {
    case 'text':
      return cleanResultText(part.text ?? '');
    case 'image':
    case 'audio':
      return `[${part.type}: ${formatType(part.mimeType)}, ${base64Bytes(part.data)} bytes, not shown]`;
    case 'resource_link':
      return `[link to a resource: ${formatLine(part.name)} ${formatLine(part.uri)} (${formatType(part.mimeType)})]`;
    case 'resource':
      return resourceToText(part.resource);
    default:
      return `[${formatLine(part.type)}: not shown]`;
  }
}

function resourceToText(resource: Part['resource']): string {
  if (resource?.text !== undefined) {
    const size = Buffer.byteLength(resource.text);
    return `[resource ${formatLine(resource.uri)}: ${formatType(resource.mimeType)}, ${size} bytes]\n${cleanResultText(resource.text)}`;
  }
  return `[resource ${formatLine(resource?.uri)}: ${formatType(resource?.mimeType)}, ${base64Bytes(resource?.blob)} bytes, not shown]`;
}

function base64Bytes(data = ''): number {
  return Buffer.byteLength(data, 'base64');
}

function formatType(mimeType: string | undefined): string {
  return formatLine(mimeType ?? 'of unknown type');
}

function formatLine(text = ''): string {
  return escapeControls(cleanResultText(text).slice(0, 300));
}
