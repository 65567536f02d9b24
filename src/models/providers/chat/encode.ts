// Encodes Chat Completions requests as @ai-sdk/openai-compatible would.
//
// A conversation only grows, and its messages stay the same objects from one request to the next, so each is encoded once.
import type { LanguageModelV4CallOptions, LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { hasOnlyCoreOptions, type Tools } from '../core-options.ts';

export function createChatEncoder(metadataKey: string) {
  const messages = new WeakMap<LanguageModelV4Message, string>();
  const toolLists = new WeakMap<NonNullable<Tools>, string | null>();

  function toolsText(tools: NonNullable<Tools>): string | null {
    const known = toolLists.get(tools);
    if (known !== undefined) return known;
    const text = encodeTools(tools);
    toolLists.set(tools, text);
    return text;
  }

  return (modelId: string, options: LanguageModelV4CallOptions): string | null => {
    if (!hasOnlyCoreOptions(options, 'reasoning')) return null;
    const { prompt, maxOutputTokens, tools, toolChoice, reasoning } = options;
    const list: string[] = [];
    for (const message of prompt) {
      let text = messages.get(message) ?? null;
      if (text === null) {
        text = encodeMessage(message, metadataKey);
        if (text === null) return null;
        messages.set(message, text);
      }
      if (text !== '') list.push(text);
    }
    let body = `{"model":${JSON.stringify(modelId)}`;
    if (maxOutputTokens !== undefined) body += `,"max_tokens":${JSON.stringify(maxOutputTokens)}`;
    if (reasoning !== undefined && reasoning !== 'provider-default') body += `,"reasoning_effort":${JSON.stringify(reasoning)}`;
    body += `,"messages":[${list.join(',')}]`;
    if (tools !== undefined && tools.length > 0) {
      const text = toolsText(tools);
      if (text === null) return null;
      body += `,"tools":${text}`;
      if (toolChoice) body += `,"tool_choice":${JSON.stringify(encodeChoice(toolChoice))}`;
    }
    return `${body},"stream":true,"stream_options":{"include_usage":true}}`;
  };
}

function encodeTools(tools: NonNullable<Tools>): string | null {
  const list: object[] = [];
  for (const tool of tools) {
    if (tool.type !== 'function' || tool.strict !== undefined) return null;
    list.push({ type: 'function', function: { name: tool.name, description: tool.description, parameters: tool.inputSchema } });
  }
  return JSON.stringify(list);
}

function encodeChoice(choice: NonNullable<LanguageModelV4CallOptions['toolChoice']>): unknown {
  return choice.type === 'tool' ? { type: 'function', function: { name: choice.toolName } } : choice.type;
}

/** Metadata under this key becomes extra fields of a message, which only the package supports. */
function hasExtraFields(part: { providerOptions?: SharedV4ProviderOptions | undefined }): boolean {
  return part.providerOptions?.openaiCompatible !== undefined;
}

/** May give several messages, separated by commas, or none: each tool result is a message. Null if only the package supports it. */
function encodeMessage(message: LanguageModelV4Message, metadataKey: string): string | null {
  if (hasExtraFields(message)) return null;
  switch (message.role) {
    case 'system':
      return JSON.stringify({ role: 'system', content: message.content });
    case 'user':
      return encodeUser(message.content);
    case 'assistant':
      return encodeAssistant(message.content, metadataKey);
    case 'tool':
      return encodeResults(message.content);
  }
}

type ContentOf<R extends LanguageModelV4Message['role']> = Extract<LanguageModelV4Message, { role: R }>['content'];

function encodeUser(content: ContentOf<'user'>): string | null {
  const parts: { type: 'text'; text: string }[] = [];
  for (const part of content) {
    if (part.type !== 'text' || hasExtraFields(part)) return null;
    parts.push({ type: 'text', text: part.text });
  }
  const [first] = parts;
  return JSON.stringify({ role: 'user', content: first && parts.length === 1 ? first.text : parts });
}

function encodeAssistant(content: ContentOf<'assistant'>, metadataKey: string): string | null {
  let text = '';
  let reasoning = '';
  const calls: object[] = [];
  for (const part of content) {
    if (hasExtraFields(part)) return null;
    if (part.type === 'text') text += part.text;
    else if (part.type === 'reasoning') reasoning += part.text;
    else if (part.type === 'tool-call') {
      if (typeof part.input !== 'object' || part.input === null || part.providerExecuted) return null;
      const meta = part.providerOptions;
      const signature = meta?.[metadataKey]?.thoughtSignature ?? meta?.google?.thoughtSignature;
      calls.push({
        id: part.toolCallId,
        type: 'function',
        function: { name: part.toolName, arguments: JSON.stringify(part.input) },
        ...(signature ? { extra_content: { google: { thought_signature: String(signature) } } } : {}),
      });
    } else return null;
  }
  return JSON.stringify({
    role: 'assistant',
    content: calls.length > 0 ? text || null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  });
}

function encodeResults(content: ContentOf<'tool'>): string | null {
  const results: string[] = [];
  for (const part of content) {
    if (part.type !== 'tool-result' || hasExtraFields(part)) return null;
    const { output } = part;
    if (output.type !== 'text' && output.type !== 'error-text') return null;
    results.push(JSON.stringify({ role: 'tool', tool_call_id: part.toolCallId, content: output.value }));
  }
  return results.join(',');
}
