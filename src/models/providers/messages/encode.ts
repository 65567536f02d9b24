// Encodes Anthropic Messages requests as @ai-sdk/anthropic would.
import type { LanguageModelV4CallOptions, LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { JsonObject } from '../../../contract/json.ts';
import { hasOnlyCoreOptions, type Tools } from '../core-options.ts';

/** Thrown for options and parts that only the package supports. */
const unsupported = Symbol('unsupported');

export function encodeMessages(modelId: string, options: LanguageModelV4CallOptions): string | null {
  const { prompt, maxOutputTokens, tools, toolChoice } = options;
  if (!hasOnlyCoreOptions(options, 'providerOptions') || maxOutputTokens === undefined) return null;
  if (toolChoice && toolChoice.type !== 'auto' && toolChoice.type !== 'none') return null; // some models reject a forced choice
  try {
    const { thinking, effort, budget } = encodeThinkingOptions(options.providerOptions);
    if (mayExceedLimit(modelId, maxOutputTokens + budget)) return null;
    const marker = createMarkerTaker();
    const { system, messages } = encodePrompt(prompt, marker);
    const list = tools && tools.length > 0 ? encodeTools(tools, marker) : undefined;
    return JSON.stringify({
      model: modelId,
      max_tokens: maxOutputTokens + budget,
      thinking,
      output_config: effort === undefined ? undefined : { effort },
      system,
      messages,
      tools: list,
      tool_choice: list && toolChoice ? { type: toolChoice.type } : undefined,
      stream: true,
    });
  } catch (thrown) {
    if (thrown === unsupported) return null;
    throw thrown;
  }
}

/** The package knows the output limit of each model. These are the lowest ones. */
function mayExceedLimit(modelId: string, tokens: number): boolean {
  return tokens > (modelId.includes('claude-3-haiku') ? 4096 : 32_000);
}

/** The options that `findEffortAbility` makes. The tokens for thinking are added to those of the answer. */
function encodeThinkingOptions(given: SharedV4ProviderOptions | undefined): { thinking?: object; effort?: unknown; budget: number } {
  if (given === undefined) return { budget: 0 };
  const { anthropic = {}, ...others } = given;
  const { thinking, effort, ...rest } = anthropic;
  if (Object.keys(others).length > 0 || Object.keys(rest).length > 0) throw unsupported;
  if (thinking === undefined) return { effort, budget: 0 };
  const { type, budgetTokens, display, ...unknown } = thinking as JsonObject;
  const isKnown = type === 'disabled' || type === 'adaptive' || (type === 'enabled' && typeof budgetTokens === 'number');
  if (!isKnown || Object.keys(unknown).length > 0) throw unsupported;
  return { thinking: { type, budget_tokens: budgetTokens, display }, effort, budget: typeof budgetTokens === 'number' ? budgetTokens : 0 };
}

type MarkedPart = { providerOptions?: SharedV4ProviderOptions | undefined };
type TakeMarker = (...parts: (MarkedPart | null)[]) => unknown;

const maxMarkers = 4;

/** Takes the cache marker of the first part that has one. From the fifth on they are dropped, because Anthropic rejects them. */
function createMarkerTaker(): TakeMarker {
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

/** Anthropic's metadata of a part. Throws `unsupported` if it has other keys than `known` and cache markers. */
function readMetadata(part: MarkedPart, ...known: string[]): JsonObject {
  const own = (part.providerOptions?.anthropic ?? {}) as JsonObject;
  for (const name in own) if (!known.includes(name) && name !== 'cacheControl' && name !== 'cache_control') throw unsupported;
  return own;
}

function encodeTools(tools: NonNullable<Tools>, marker: TakeMarker): object[] {
  return tools.map((tool) => {
    if (tool.type !== 'function' || tool.strict !== undefined || tool.inputExamples !== undefined) throw unsupported;
    readMetadata(tool);
    const { name, description, inputSchema } = tool;
    return { name, description, input_schema: inputSchema, cache_control: marker(tool), eager_input_streaming: true };
  });
}

interface RoleBlock {
  role: 'system' | 'user' | 'assistant';
  messages: LanguageModelV4Message[];
}

/** Adjacent messages of one role become one; tool results belong to the user. */
function groupByRole(prompt: LanguageModelV4CallOptions['prompt']): RoleBlock[] {
  const blocks: RoleBlock[] = [];
  for (const message of prompt) {
    const role = message.role === 'tool' ? 'user' : message.role;
    const last = blocks.at(-1);
    if (last?.role === role) last.messages.push(message);
    else blocks.push({ role, messages: [message] });
  }
  return blocks;
}

function encodePrompt(prompt: LanguageModelV4CallOptions['prompt'], marker: TakeMarker) {
  let system: object[] | undefined;
  const messages: { role: string; content: object[] }[] = [];
  const blocks = groupByRole(prompt);
  for (const [at, block] of blocks.entries()) {
    if (block.role === 'system') {
      if (at > 0) throw unsupported;
      system = block.messages.map((message) => encodeSystem(message, marker));
    } else if (block.role === 'user') {
      messages.push({ role: 'user', content: block.messages.flatMap((message) => encodeUserParts(message, marker)) });
    } else {
      const content = block.messages.flatMap((message) => encodeAssistantParts(message, marker));
      // The model continues a final assistant message, and Anthropic rejects trailing whitespace there.
      if (at === blocks.length - 1) trimLast(content, block.messages.at(-1));
      if (content.length > 0) messages.push({ role: 'assistant', content: moveCallsLast(content) });
    }
  }
  return { system, messages };
}

function encodeSystem(message: LanguageModelV4Message, marker: TakeMarker): object {
  readMetadata(message);
  return { type: 'text', text: message.content, cache_control: marker(message) };
}

function encodeUserParts(message: LanguageModelV4Message, marker: TakeMarker): object[] {
  if (message.role !== 'user' && message.role !== 'tool') throw unsupported;
  return message.content.map((part, at) => {
    const whole = at === message.content.length - 1 ? message : null;
    if (part.type === 'text') return { type: 'text', text: part.text, cache_control: marker(part, whole) };
    if (part.type !== 'tool-result') throw unsupported;
    const { output } = part;
    if (output.type !== 'text' && output.type !== 'error-text') throw unsupported;
    readMetadata(part, 'caller', 'signature', 'redactedData');
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

function encodeAssistantParts(message: LanguageModelV4Message, marker: TakeMarker): Part[] {
  if (message.role !== 'assistant') throw unsupported;
  const content = message.content.filter((part) => part.type !== 'text' || part.text !== '');
  return content.flatMap((part, at): Part[] => {
    const cache_control = marker(part, at === content.length - 1 ? message : null);
    if (part.type === 'text') {
      readMetadata(part);
      return [{ type: 'text', text: part.text, cache_control } as Part];
    }
    if (part.type === 'reasoning') return encodeThinking(part.text, readMetadata(part, 'signature', 'redactedData'));
    if (part.type !== 'tool-call' || part.providerExecuted) throw unsupported;
    const { input } = part;
    if (typeof input !== 'object' || input === null || Array.isArray(input)) throw unsupported;
    const caller = encodeCaller(readMetadata(part, 'caller'));
    return [{ type: 'tool_use', id: part.toolCallId, name: part.toolName, input, ...caller, cache_control } as Part];
  });
}

/** Thinking without a signature is dropped, because Anthropic would reject it. */
function encodeThinking(text: string, { signature, redactedData }: JsonObject): Part[] {
  for (const value of [signature, redactedData]) if (value !== undefined && typeof value !== 'string') throw unsupported;
  if (signature !== undefined) return [{ type: 'thinking', thinking: text, signature } as Part];
  return redactedData === undefined ? [] : [{ type: 'redacted_thinking', data: redactedData } as Part];
}

/** Who made the call, if Anthropic says so: always the model itself here. */
function encodeCaller({ caller }: JsonObject): { caller?: { type: 'direct' } } {
  if (caller === undefined || caller === null) return {};
  if ((caller as JsonObject).type !== 'direct') throw unsupported;
  return { caller: { type: 'direct' } };
}

function trimLast(content: Part[], message: LanguageModelV4Message | undefined): void {
  const last = content.at(-1);
  const lastPart = message?.role === 'assistant' ? message.content.findLast((part) => part.type !== 'text' || part.text !== '') : undefined;
  if (last?.type === 'text' && lastPart?.type === 'text') last.text = (last.text as string).trim();
}

/** Moves calls behind the texts next to them; thinking stays in place. */
function moveCallsLast(content: Part[]): Part[] {
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
