import { z } from 'zod';
import type { ToolResult } from '../../ports/tool.ts';
import { printable, readable } from '../text.ts';

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

/** What a server answered to a call, as text: what a model cannot read is a line that says what it was. */
export function resultOf(answer: unknown): ToolResult {
  const taint = ['mcp'];
  const parsed = Result.safeParse(answer);
  if (!parsed.success) return { output: 'the server gave no result that can be read', isError: true, taint };
  const { content = [], structuredContent, isError = false } = parsed.data;
  const parts = content.map((part) => Part.safeParse(part));
  const texts = parts.map((part) => (part.success ? textOf(part.data) : '[a part that cannot be read]'));
  const hasText = parts.some((part) => part.success && (part.data.text ?? part.data.resource?.text) !== undefined);
  if (!hasText && structuredContent !== undefined) texts.push(readable(JSON.stringify(structuredContent)));
  return { output: texts.join('\n') || '(the result is empty)', isError, taint };
}

function textOf(part: Part): string {
  switch (part.type) {
    case 'text':
      return readable(part.text ?? '');
    case 'image':
    case 'audio':
      return `[${part.type}: ${kind(part.mimeType)}, ${bytesOf(part.data)} bytes, not shown]`;
    case 'resource_link':
      return `[link to a resource: ${line(part.name)} ${line(part.uri)} (${kind(part.mimeType)})]`;
    case 'resource':
      return resourceText(part.resource);
    default:
      return `[${line(part.type)}: not shown]`;
  }
}

function resourceText(resource: Part['resource']): string {
  if (resource?.text !== undefined) {
    const size = Buffer.byteLength(resource.text);
    return `[resource ${line(resource.uri)}: ${kind(resource.mimeType)}, ${size} bytes]\n${readable(resource.text)}`;
  }
  return `[resource ${line(resource?.uri)}: ${kind(resource?.mimeType)}, ${bytesOf(resource?.blob)} bytes, not shown]`;
}

/** Of base64. */
function bytesOf(data = ''): number {
  return Buffer.byteLength(data, 'base64');
}

function kind(mimeType: string | undefined): string {
  return line(mimeType ?? 'of unknown type');
}

function line(text = ''): string {
  return printable(readable(text).slice(0, 300));
}
