// The body of an Anthropic Messages request, as @ai-sdk/anthropic writes it.
import type { LanguageModelV4CallOptions, LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { JsonObject } from '../../../contract/json.ts';
import { isPlain, type Tools } from '../plain.ts';

/** Something that only the package can say. */
const beyond = Symbol('beyond');

export function encodeMessages(modelId: string, options: LanguageModelV4CallOptions): string | null {
  const { prompt, maxOutputTokens, tools, toolChoice } = options;
  if (!isPlain(options) || maxOutputTokens === undefined || mayBeCapped(modelId, maxOutputTokens)) return null;
  if (toolChoice && toolChoice.type !== 'auto' && toolChoice.type !== 'none') return null; // some models refuse to be forced
  try {
    const marker = createMarker();
    const { system, messages } = encodePrompt(prompt, marker);
    const list = tools && tools.length > 0 ? encodeTools(tools, marker) : undefined;
    return JSON.stringify({
      model: modelId,
      max_tokens: maxOutputTokens,
      system,
      messages,
      tools: list,
      tool_choice: list && toolChoice ? { type: toolChoice.type } : undefined,
      stream: true,
    });
  } catch (thrown) {
    if (thrown === beyond) return null;
    throw thrown;
  }
}

/** The package knows what each model may say at most. These are the least of them. */
function mayBeCapped(modelId: string, tokens: number): boolean {
  return tokens > (modelId.includes('claude-3-haiku') ? 4096 : 32_000);
}

type Marked = { providerOptions?: SharedV4ProviderOptions | undefined };
type Marker = (...parts: (Marked | null)[]) => unknown;

const maxMarkers = 4;

/** The cache marker of the first part that has one, as long as there are not too many: Anthropic refuses a fifth. */
function createMarker(): Marker {
  let count = 0;
  return (...parts) => {
    for (const part of parts) {
      const own = part?.providerOptions?.anthropic;
      const value = own?.cacheControl ?? own?.cache_control;
      if (value && ++count <= maxMarkers) return value;
    }
    return undefined;
  };
}

/** What the provider's own metadata may hold here; anything else is for the package. */
function ownOf(part: Marked, ...known: string[]): JsonObject {
  const own = (part.providerOptions?.anthropic ?? {}) as JsonObject;
  for (const name in own) if (!known.includes(name) && name !== 'cacheControl' && name !== 'cache_control') throw beyond;
  return own;
}

function encodeTools(tools: NonNullable<Tools>, marker: Marker): object[] {
  return tools.map((tool) => {
    if (tool.type !== 'function' || tool.strict !== undefined || tool.inputExamples !== undefined) throw beyond;
    ownOf(tool);
    const { name, description, inputSchema } = tool;
    return { name, description, input_schema: inputSchema, cache_control: marker(tool), eager_input_streaming: true };
  });
}

interface Block {
  role: 'system' | 'user' | 'assistant';
  messages: LanguageModelV4Message[];
}

/** Neighbours of one role are one message; tool results are the user's. */
function blocksOf(prompt: LanguageModelV4CallOptions['prompt']): Block[] {
  const blocks: Block[] = [];
  for (const message of prompt) {
    const role = message.role === 'tool' ? 'user' : message.role;
    const last = blocks.at(-1);
    if (last?.role === role) last.messages.push(message);
    else blocks.push({ role, messages: [message] });
  }
  return blocks;
}

function encodePrompt(prompt: LanguageModelV4CallOptions['prompt'], marker: Marker) {
  let system: object[] | undefined;
  const messages: { role: string; content: object[] }[] = [];
  const blocks = blocksOf(prompt);
  for (const [at, block] of blocks.entries()) {
    if (block.role === 'system') {
      if (at > 0) throw beyond;
      system = block.messages.map((message) => systemText(message, marker));
    } else if (block.role === 'user') {
      messages.push({ role: 'user', content: block.messages.flatMap((message) => userParts(message, marker)) });
    } else {
      const content = block.messages.flatMap((message) => assistantParts(message, marker));
      // A last word of the model is one for it to go on from, and must not end in blanks.
      if (at === blocks.length - 1) trimLast(content, block.messages.at(-1));
      if (content.length > 0) messages.push({ role: 'assistant', content: callsLast(content) });
    }
  }
  return { system, messages };
}

function systemText(message: LanguageModelV4Message, marker: Marker): object {
  ownOf(message);
  return { type: 'text', text: message.content, cache_control: marker(message) };
}

function userParts(message: LanguageModelV4Message, marker: Marker): object[] {
  if (message.role !== 'user' && message.role !== 'tool') throw beyond;
  return message.content.map((part, at) => {
    const whole = at === message.content.length - 1 ? message : null;
    if (part.type === 'text') return { type: 'text', text: part.text, cache_control: marker(part, whole) };
    if (part.type !== 'tool-result') throw beyond;
    const { output } = part;
    if (output.type !== 'text' && output.type !== 'error-text') throw beyond;
    ownOf(part, 'caller', 'signature', 'redactedData');
    return {
      type: 'tool_result',
      tool_use_id: part.toolCallId,
      content: output.value,
      is_error: output.type === 'error-text' ? true : undefined,
      cache_control: marker(part, output, whole),
    };
  });
}

interface Part {
  type: string;
  text?: string;
}

function assistantParts(message: LanguageModelV4Message, marker: Marker): Part[] {
  if (message.role !== 'assistant') throw beyond;
  const content = message.content.filter((part) => part.type !== 'text' || part.text !== '');
  return content.flatMap((part, at): Part[] => {
    const cache_control = marker(part, at === content.length - 1 ? message : null);
    if (part.type === 'text') {
      ownOf(part);
      return [{ type: 'text', text: part.text, cache_control } as Part];
    }
    if (part.type === 'reasoning') return thinking(part.text, ownOf(part, 'signature', 'redactedData'));
    if (part.type !== 'tool-call' || part.providerExecuted) throw beyond;
    const { input } = part;
    if (typeof input !== 'object' || input === null || Array.isArray(input)) throw beyond;
    const caller = callerOf(ownOf(part, 'caller'));
    return [{ type: 'tool_use', id: part.toolCallId, name: part.toolName, input, ...caller, cache_control } as Part];
  });
}

/** Thinking goes back with its signature; without one it is left out, since Anthropic would refuse it. */
function thinking(text: string, { signature, redactedData }: JsonObject): Part[] {
  for (const value of [signature, redactedData]) if (value !== undefined && typeof value !== 'string') throw beyond;
  if (signature !== undefined) return [{ type: 'thinking', thinking: text, signature } as Part];
  return redactedData === undefined ? [] : [{ type: 'redacted_thinking', data: redactedData } as Part];
}

/** Who made the call, where Anthropic says it: here always the model itself. */
function callerOf({ caller }: JsonObject): { caller?: { type: 'direct' } } {
  if (caller === undefined || caller === null) return {};
  if ((caller as JsonObject).type !== 'direct') throw beyond;
  return { caller: { type: 'direct' } };
}

function trimLast(content: Part[], message: LanguageModelV4Message | undefined): void {
  const last = content.at(-1);
  const said = message?.role === 'assistant' ? message.content.findLast((part) => part.type !== 'text' || part.text !== '') : undefined;
  if (last?.type === 'text' && said?.type === 'text') last.text = (last.text as string).trim();
}

/** Calls come after the texts beside them; thinking stays where it is. */
function callsLast(content: Part[]): Part[] {
  const sorted: Part[] = [];
  let segment: Part[] = [];
  const flush = () => {
    sorted.push(...segment.filter((part) => part.type !== 'tool_use'), ...segment.filter((part) => part.type === 'tool_use'));
    segment = [];
  };
  for (const part of content) {
    if (part.type !== 'thinking' && part.type !== 'redacted_thinking') segment.push(part);
    else {
      flush();
      sorted.push(part);
    }
  }
  flush();
  return sorted;
}
