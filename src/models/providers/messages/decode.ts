// A stream of Anthropic Messages events as parts of a model, as @ai-sdk/anthropic tells them. Blocks of tools that Anthropic runs itself
// are read over: none are asked for.
import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { Decoder } from '../own.ts';
import { misshapen, textOf } from '../shape.ts';

type Take = (part: LanguageModelV4StreamPart) => void;
type Fields = Record<string, unknown>;

type Block = { kind: 'text' | 'reasoning' } | { kind: 'call'; id: string; name: string; input: string; caller: Fields | null };

export function decodeMessages(take: Take): Decoder {
  const blocks = new Map<number, Block>();
  const usage: Fields = {};
  let finish: string | null = null;
  /** The id of the message that is being told; undefined: none is. */
  let telling: unknown;

  const handlers: Record<string, (event: Fields) => void> = {
    message_start(event) {
      const message = fieldsOf(event.message, 'a message');
      const { id = null, model } = message;
      if (telling !== undefined) {
        if (telling === id) return;
        throw misshapen('a second message inside the first');
      }
      telling = id;
      count(usage, message.usage);
      if (typeof message.stop_reason === 'string') finish = message.stop_reason;
      const origin = { ...(typeof id === 'string' ? { id } : {}), ...(typeof model === 'string' ? { modelId: model } : {}) };
      take({ type: 'response-metadata', ...origin });
    },
    content_block_start(event) {
      const block = fieldsOf(event.content_block, 'a block');
      const index = indexOf(event);
      const id = String(index);
      if (block.type === 'text' || block.type === 'thinking') {
        const kind = block.type === 'text' ? 'text' : 'reasoning';
        blocks.set(index, { kind });
        take({ type: `${kind}-start`, id });
      } else if (block.type === 'redacted_thinking') {
        blocks.set(index, { kind: 'reasoning' });
        take({ type: 'reasoning-start', id, providerMetadata: { anthropic: { redactedData: textOf(block.data) } } });
      } else if (block.type === 'tool_use') {
        blocks.set(index, beginCall(block, take));
      }
    },
    content_block_delta(event) {
      const block = blocks.get(indexOf(event));
      if (block) hear(block, String(event.index), fieldsOf(event.delta, 'a delta'), take);
    },
    content_block_stop(event) {
      const index = indexOf(event);
      const block = blocks.get(index);
      if (block) endBlock(block, String(index), take);
      blocks.delete(index);
    },
    message_delta(event) {
      const { stop_reason } = fieldsOf(event.delta, 'the end of a message');
      finish = typeof stop_reason === 'string' ? stop_reason : null;
      count(usage, event.usage);
    },
    message_stop() {
      telling = undefined;
      const unified = finish === null ? 'other' : (finishes[finish] ?? 'other');
      take({ type: 'finish', finishReason: { unified, raw: finish ?? undefined }, usage: usageOf(usage) });
    },
    error(event) {
      const error = fieldsOf(event.error, 'an error');
      const statusCode = typeof error.statusCode === 'number' ? error.statusCode : statuses[String(error.type)];
      throw { message: error.message, type: error.type, ...(statusCode === undefined ? {} : { statusCode }) };
    },
  };

  return {
    event(data) {
      const event = fieldsOf(data, 'no object');
      // Pings, and events that are newer than this.
      if (typeof event.type === 'string' && Object.hasOwn(handlers, event.type)) handlers[event.type]?.(event);
    },
    // A message that was not stopped has no finish, and so is no answer.
    end: () => {},
  };
}

const finishes: Record<string, 'stop' | 'length' | 'content-filter' | 'tool-calls'> = Object.assign(Object.create(null), {
  end_turn: 'stop',
  pause_turn: 'stop',
  stop_sequence: 'stop',
  refusal: 'content-filter',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
});

const statuses: Record<string, number> = Object.assign(Object.create(null), {
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
  const [id, name] = [textOf(given.id), textOf(given.name)];
  // Arguments come in pieces; an empty object here stands for none yet.
  const whole = typeof given.input === 'object' && given.input !== null && Object.keys(given.input).length > 0;
  const caller = typeof given.caller === 'object' ? (given.caller as Fields | null) : null;
  take({ type: 'tool-input-start', id, toolName: name });
  return { kind: 'call', id, name, input: whole ? JSON.stringify(given.input) : '', caller };
}

function hear(block: Block, id: string, delta: Fields, take: Take): void {
  if (delta.type === 'text_delta' && block.kind !== 'call') take({ type: 'text-delta', id, delta: textOf(delta.text) });
  else if (delta.type === 'thinking_delta') take({ type: 'reasoning-delta', id, delta: textOf(delta.thinking) });
  else if (delta.type === 'signature_delta' && block.kind === 'reasoning') {
    take({ type: 'reasoning-delta', id, delta: '', providerMetadata: { anthropic: { signature: textOf(delta.signature) } } });
  } else if (delta.type === 'input_json_delta' && block.kind === 'call') {
    const text = textOf(delta.partial_json);
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

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null) throw misshapen(what);
  return value as Fields;
}

function indexOf({ index }: Fields): number {
  if (typeof index !== 'number') throw misshapen('the index of a block');
  return index;
}

const counted = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens_details'];

/** The end of a message corrects what its beginning said. */
function count(usage: Fields, given: unknown): void {
  if (typeof given !== 'object' || given === null) return;
  for (const name of counted) {
    const value = (given as Fields)[name];
    if (value !== null && value !== undefined) usage[name] = value;
  }
}

function usageOf(usage: Fields): LanguageModelV4Usage {
  const input = numberOf(usage.input_tokens);
  const read = numberOf(usage.cache_read_input_tokens) ?? 0;
  const written = numberOf(usage.cache_creation_input_tokens) ?? 0;
  const output = numberOf(usage.output_tokens);
  const reasoning = numberOf((usage.output_tokens_details as Fields | undefined)?.thinking_tokens);
  return {
    inputTokens: { total: input === undefined ? undefined : input + read + written, noCache: input, cacheRead: read, cacheWrite: written },
    outputTokens: {
      total: output,
      text: output === undefined || reasoning === undefined ? undefined : output - reasoning,
      reasoning,
    },
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
