// Decodes a stream of Anthropic Messages events to the parts that @ai-sdk/anthropic would give. Blocks of tools that Anthropic runs itself are
// ignored, because no request offers such tools.
import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { createFormatError, requireText } from '../event-fields.ts';
import type { Decoder } from '../wire-model.ts';

type Take = (part: LanguageModelV4StreamPart) => void;
type Fields = Record<string, unknown>;

type Block = { kind: 'text' | 'reasoning' } | { kind: 'call'; id: string; name: string; input: string; caller: Fields | null };

export function createMessagesDecoder(take: Take): Decoder {
  const blocks = new Map<number, Block>();
  const usage: Fields = {};
  let finish: string | null = null;
  /** The id of the open message; undefined if there is none. */
  let openId: unknown;

  const handlers: Record<string, (event: Fields) => void> = {
    message_start(event) {
      const message = requireFields(event.message, 'a message');
      const { id = null, model } = message;
      if (openId !== undefined) {
        if (openId === id) return;
        throw createFormatError('a second message inside the first');
      }
      openId = id;
      updateUsage(usage, message.usage);
      if (typeof message.stop_reason === 'string') finish = message.stop_reason;
      const origin = { ...(typeof id === 'string' ? { id } : {}), ...(typeof model === 'string' ? { modelId: model } : {}) };
      take({ type: 'response-metadata', ...origin });
    },
    content_block_start(event) {
      const block = requireFields(event.content_block, 'a block');
      const index = requireIndex(event);
      const id = String(index);
      if (block.type === 'text' || block.type === 'thinking') {
        const kind = block.type === 'text' ? 'text' : 'reasoning';
        blocks.set(index, { kind });
        take({ type: `${kind}-start`, id });
      } else if (block.type === 'redacted_thinking') {
        blocks.set(index, { kind: 'reasoning' });
        take({ type: 'reasoning-start', id, providerMetadata: { anthropic: { redactedData: requireText(block.data) } } });
      } else if (block.type === 'tool_use') {
        blocks.set(index, beginCall(block, take));
      }
    },
    content_block_delta(event) {
      const block = blocks.get(requireIndex(event));
      if (block) sendDelta(block, String(event.index), requireFields(event.delta, 'a delta'), take);
    },
    content_block_stop(event) {
      const index = requireIndex(event);
      const block = blocks.get(index);
      if (block) endBlock(block, String(index), take);
      blocks.delete(index);
    },
    message_delta(event) {
      const { stop_reason } = requireFields(event.delta, 'the end of a message');
      finish = typeof stop_reason === 'string' ? stop_reason : null;
      updateUsage(usage, event.usage);
    },
    message_stop() {
      openId = undefined;
      const unified = finish === null ? 'other' : (finishReasons[finish] ?? 'other');
      take({ type: 'finish', finishReason: { unified, raw: finish ?? undefined }, usage: toModelUsage(usage) });
    },
    error(event) {
      const error = requireFields(event.error, 'an error');
      const statusCode = typeof error.statusCode === 'number' ? error.statusCode : errorStatuses[String(error.type)];
      throw { message: error.message, type: error.type, ...(statusCode === undefined ? {} : { statusCode }) };
    },
  };

  return {
    event(data) {
      const event = requireFields(data, 'no object');
      // Pings and events of newer versions have no handler.
      if (typeof event.type === 'string' && Object.hasOwn(handlers, event.type)) handlers[event.type]?.(event);
    },
    // A message without `message_stop` has no finish part, so it does not count as an answer.
    end: () => {},
  };
}

const finishReasons: Record<string, 'stop' | 'length' | 'content-filter' | 'tool-calls'> = Object.assign(Object.create(null), {
  end_turn: 'stop',
  pause_turn: 'stop',
  stop_sequence: 'stop',
  refusal: 'content-filter',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
});

const errorStatuses: Record<string, number> = Object.assign(Object.create(null), {
  api_error: 500,
  overloaded_error: 529,
  rate_limit_error: 429,
  request_too_large: 413,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  billing_error: 400,
  invalid_request_error: 400,
});

function beginCall(given: Fields, take: Take): Block {
  const [id, name] = [requireText(given.id), requireText(given.name)];
  // Arguments arrive in pieces; an empty object here is only a placeholder.
  const isComplete = typeof given.input === 'object' && given.input !== null && Object.keys(given.input).length > 0;
  const caller = typeof given.caller === 'object' ? (given.caller as Fields | null) : null;
  take({ type: 'tool-input-start', id, toolName: name });
  return { kind: 'call', id, name, input: isComplete ? JSON.stringify(given.input) : '', caller };
}

function sendDelta(block: Block, id: string, delta: Fields, take: Take): void {
  if (delta.type === 'text_delta' && block.kind !== 'call') take({ type: 'text-delta', id, delta: requireText(delta.text) });
  else if (delta.type === 'thinking_delta') take({ type: 'reasoning-delta', id, delta: requireText(delta.thinking) });
  else if (delta.type === 'signature_delta' && block.kind === 'reasoning') {
    take({ type: 'reasoning-delta', id, delta: '', providerMetadata: { anthropic: { signature: requireText(delta.signature) } } });
  } else if (delta.type === 'input_json_delta' && block.kind === 'call') {
    const text = requireText(delta.partial_json);
    if (text === '') return;
    block.input += text;
    take({ type: 'tool-input-delta', id: block.id, delta: text });
  }
}

function endBlock(block: Block, id: string, take: Take): void {
  if (block.kind !== 'call') {
    take({ type: `${block.kind}-end`, id });
    return;
  }
  const { id: toolCallId, name: toolName, caller } = block;
  take({ type: 'tool-input-end', id: toolCallId });
  const type = caller && typeof caller.type === 'string' ? caller.type : null;
  const toolId = caller && typeof caller.tool_id === 'string' ? { toolId: caller.tool_id } : {};
  const meta = type === null ? {} : { providerMetadata: { anthropic: { caller: { type, ...toolId } } } };
  take({ type: 'tool-call', toolCallId, toolName, input: block.input === '' ? '{}' : block.input, ...meta });
}

function requireFields(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null) throw createFormatError(what);
  return value as Fields;
}

function requireIndex({ index }: Fields): number {
  if (typeof index !== 'number') throw createFormatError('the index of a block');
  return index;
}

const usageFields = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens_details'];

/** Later counts replace earlier ones: the end of a message corrects its beginning. */
function updateUsage(usage: Fields, given: unknown): void {
  if (typeof given !== 'object' || given === null) return;
  for (const name of usageFields) {
    const value = (given as Fields)[name];
    if (value !== null && value !== undefined) usage[name] = value;
  }
}

function toModelUsage(usage: Fields): LanguageModelV4Usage {
  const input = toNumber(usage.input_tokens);
  const read = toNumber(usage.cache_read_input_tokens) ?? 0;
  const written = toNumber(usage.cache_creation_input_tokens) ?? 0;
  const output = toNumber(usage.output_tokens);
  const reasoning = toNumber((usage.output_tokens_details as Fields | undefined)?.thinking_tokens);
  return {
    inputTokens: { total: input === undefined ? undefined : input + read + written, noCache: input, cacheRead: read, cacheWrite: written },
    outputTokens: {
      total: output,
      text: output === undefined || reasoning === undefined ? undefined : output - reasoning,
      reasoning,
    },
  };
}

function toNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
