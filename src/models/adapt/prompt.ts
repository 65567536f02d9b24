// Converts a V4 prompt for models that implement only V2 or V3.
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultOutput, SharedV4FileData } from '@ai-sdk/provider';
import { RetinueError } from '../../contract/error.ts';

type Version = 'v2' | 'v3';
type Part = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number];
type Item = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number];

export function convertPrompt(version: Version, prompt: LanguageModelV4Prompt): unknown[] {
  return prompt.map((message) =>
    message.role === 'system'
      ? message
      : { ...message, content: (message.content as Part[]).flatMap((part) => convertPart(version, part)) },
  );
}

function convertPart(version: Version, part: Part): unknown[] {
  switch (part.type) {
    case 'custom':
    case 'reasoning-file':
      return [];
    case 'tool-approval-response':
      return version === 'v2' ? [] : [part];
    case 'file':
      return [{ ...part, data: convertData(part.data) }];
    case 'tool-result':
      return [{ ...part, output: convertOutput(version, part.output) }];
    default:
      return [part];
  }
}

function convertData(data: SharedV4FileData): unknown {
  if (data.type === 'data') return data.data;
  if (data.type === 'url') return data.url;
  if (data.type === 'text') return new TextEncoder().encode(data.text);
  throw new RetinueError('bad_request', 'this model does not support files that are stored with the provider');
}

function convertOutput(version: Version, output: LanguageModelV4ToolResultOutput): unknown {
  if (output.type === 'execution-denied' && version === 'v2') return { type: 'error-text', value: output.reason ?? 'the call was denied' };
  if (output.type !== 'content') return output;
  return { ...output, value: output.value.flatMap((item) => convertItem(version, item)) };
}

function convertItem(version: Version, item: Item): unknown[] {
  if (item.type === 'text') return [item];
  if (item.type === 'custom') return version === 'v2' ? [] : [item];
  const { data, type: _, ...rest } = item;
  if (data.type === 'text') return [{ type: 'text', text: data.text }];
  if (data.type === 'url')
    return [version === 'v2' ? { type: 'text', text: String(data.url) } : { ...rest, type: 'file-url', url: String(data.url) }];
  if (data.type === 'reference') return version === 'v2' ? [] : [{ ...rest, type: 'file-id', fileId: data.reference }];
  const base64 = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64');
  return [version === 'v2' ? { type: 'media', data: base64, mediaType: item.mediaType } : { ...rest, type: 'file-data', data: base64 }];
}
