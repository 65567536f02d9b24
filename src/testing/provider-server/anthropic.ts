// Anthropic's Messages API.
import { type Answer, splitText, type Wire, type WireEvent } from './types.ts';

const stopReasons = { stop: 'end_turn', length: 'max_tokens', 'tool-calls': 'tool_use', 'content-filter': 'refusal' };
const errorTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

export const anthropic: Wire = {
  ping: 'event: ping\ndata: {"type": "ping"}\n\n',

  events(answer) {
    const usage = createUsage(answer);
    const message = { ...createEnvelope(answer), content: [], stop_reason: null, usage: { ...usage, output_tokens: 0 } };
    const events = [createEvent('begin', { type: 'message_start', message })];
    for (const [index, block] of createBlocks(answer).entries()) {
      events.push(createEvent('content', { type: 'content_block_start', index, content_block: block.start }));
      for (const delta of block.deltas) events.push(createEvent('content', { type: 'content_block_delta', index, delta }));
      events.push(createEvent('content', { type: 'content_block_stop', index }));
    }
    const delta = { stop_reason: stopReasons[answer.finish], stop_sequence: null };
    events.push(createEvent('end', { type: 'message_delta', delta, usage: createFinalUsage(answer) }));
    events.push(createEvent('end', { type: 'message_stop' }));
    return events;
  },

  whole: (answer) => ({
    ...createEnvelope(answer),
    content: createBlocks(answer).map((block) => block.whole),
    stop_reason: stopReasons[answer.finish],
    stop_sequence: null,
    usage: createUsage(answer),
  }),

  error: (fault) => ({ type: 'error', error: { type: getErrorType(fault), message: fault.message } }),
  errorEvent: (fault) => createEvent('content', { type: 'error', error: { type: getErrorType(fault), message: fault.message } }),
};

function createEvent(part: WireEvent['part'], data: { type: string; [key: string]: unknown }): WireEvent {
  return { name: data.type, data, part };
}

function getErrorType({ status, type }: { status: number; type?: string }): string {
  return type ?? errorTypes[status] ?? 'api_error';
}

function createEnvelope({ id, model }: Answer) {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model };
}

/** This format requires usage, so missing usage becomes zeros. */
function createUsage({ usage }: Answer) {
  const { input = 0, output = 0, cached = 0, written = 0 } = usage ?? {};
  return {
    input_tokens: input - cached - written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    output_tokens: output,
  };
}

function createFinalUsage({ usage }: Answer) {
  const thinking = usage && usage.reasoning > 0 ? { output_tokens_details: { thinking_tokens: usage.reasoning } } : {};
  return { output_tokens: usage?.output ?? 0, ...thinking };
}

interface Block {
  start: object;
  deltas: object[];
  whole: object;
}

function createBlocks(answer: Answer): Block[] {
  const blocks: Block[] = [];
  const { chunkSize, signature } = answer;
  if (answer.reasoning !== '' || signature !== null) {
    const signed = signature === null ? [] : [{ type: 'signature_delta', signature }];
    blocks.push({
      start: { type: 'thinking', thinking: '' },
      deltas: [...splitText(answer.reasoning, chunkSize).map((thinking) => ({ type: 'thinking_delta', thinking })), ...signed],
      whole: { type: 'thinking', thinking: answer.reasoning, signature: signature ?? '' },
    });
  }
  if (answer.redacted !== null) {
    const block = { type: 'redacted_thinking', data: answer.redacted };
    blocks.push({ start: block, deltas: [], whole: block });
  }
  if (answer.text !== '') {
    blocks.push({
      start: { type: 'text', text: '' },
      deltas: splitText(answer.text, chunkSize).map((text) => ({ type: 'text_delta', text })),
      whole: { type: 'text', text: answer.text },
    });
  }
  for (const call of answer.calls) {
    const base = { type: 'tool_use', id: call.id, name: call.tool };
    blocks.push({
      start: { ...base, input: {} },
      deltas: splitText(call.input, chunkSize).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      whole: { ...base, input: parseOrKeep(call.input) },
    });
  }
  return blocks;
}

function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
