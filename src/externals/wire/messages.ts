// Anthropic's Messages protocol.
import type { Usage } from '../../contract/content.ts';
import {
  areTokenCounts,
  asCount,
  asList,
  asObject,
  assertLocalContent,
  asText,
  contentText,
  keepFields,
  messagesSinceAnswer,
  parseInput,
  writeEvent,
} from './body.ts';
import type { Body, Wire, WireAnswer, WireCall } from './types.ts';

const fields = [
  ...['model', 'messages', 'system', 'tools', 'tool_choice', 'stream', 'max_tokens', 'stop_sequences', 'temperature', 'top_p', 'top_k'],
  ...['thinking', 'output_config', 'output_format', 'context_management', 'cache_control', 'metadata'],
];

const finishes: Record<string, WireAnswer['finish']> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  refusal: 'content-filter',
};

/** Tools with a type are executed by the provider, or belong to programs of the provider that do not use them here. */
function isOwnTool({ type }: Body, canSearch: boolean): boolean {
  return type === undefined || type === 'custom' || (canSearch && asText(type).startsWith('web_search'));
}

/** A summary by the provider is a model call of its own, which the counts of the answer leave out. */
function keepClearing(management: Body): Body {
  return { ...management, edits: asList(management.edits).filter(({ type }) => asText(type).startsWith('clear_')) };
}

/** Counts that are not repeated at the end of an answer may be `null` there. */
function withoutNulls(counts: Body): Body {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== null));
}

function toUsage(given: Body): Usage | null {
  if ((given.input_tokens ?? given.output_tokens ?? null) === null) return null;
  const cached = asCount(given.cache_read_input_tokens);
  const written = asCount(given.cache_creation_input_tokens);
  if (!areTokenCounts(given.input_tokens, given.output_tokens, cached, written)) return null;
  const input = asCount(given.input_tokens) + cached + written;
  return { cached, estimated: false, input, output: asCount(given.output_tokens), reasoning: 0 };
}

function readBlocks(blocks: Body[], stop: unknown, usage: Body): WireAnswer {
  const calls = blocks.flatMap((block): WireCall[] =>
    block.type === 'tool_use' ? [{ id: asText(block.id), name: asText(block.name), input: block.input }] : [],
  );
  const text = blocks.flatMap((block) => (block.type === 'text' ? [asText(block.text)] : [])).join('');
  return { calls, text, finish: finishes[asText(stop)] ?? 'other', usage: toUsage(usage) };
}

export const messages: Wire = {
  path: '/v1/messages',
  headers: ['anthropic-version', 'anthropic-beta'],
  ping: 'event: ping\ndata: {"type": "ping"}\n\n',

  restrict(body, canSearch) {
    for (const each of [body.messages, body.system]) assertLocalContent(each);
    const kept = keepFields(body, fields);
    if (kept.tools !== undefined) kept.tools = asList(kept.tools).filter((tool) => isOwnTool(tool, canSearch));
    if (kept.context_management !== undefined) kept.context_management = keepClearing(asObject(kept.context_management));
    return kept;
  },

  probe: (model) => ({ model, max_tokens: 16, messages: [{ role: 'user', content: 'Answer with OK.' }] }),

  results: (body) =>
    messagesSinceAnswer(body).flatMap(({ content }) =>
      asList(content).flatMap((block) =>
        block.type === 'tool_result'
          ? [{ id: asText(block.tool_use_id), isError: block.is_error === true, output: contentText(block.content) }]
          : [],
      ),
    ),

  readEvents(events) {
    const blocks: Body[] = [];
    const inputs: string[] = [];
    let stop: unknown = null;
    let usage: Body = {};
    let isComplete = false;
    for (const event of events) {
      const index = asCount(event.index);
      const delta = asObject(event.delta);
      if (event.type === 'message_start') usage = { ...asObject(asObject(event.message).usage) };
      else if (event.type === 'content_block_start') {
        blocks[index] = { ...asObject(event.content_block) };
        inputs[index] = '';
      } else if (event.type === 'content_block_delta') {
        const block = blocks[index];
        if (!block) return null;
        if (delta.type === 'text_delta') block.text = asText(block.text) + asText(delta.text);
        if (delta.type === 'input_json_delta') inputs[index] += asText(delta.partial_json);
      } else if (event.type === 'message_delta') {
        stop = delta.stop_reason;
        usage = { ...usage, ...withoutNulls(asObject(event.usage)) };
      } else if (event.type === 'message_stop') isComplete = true;
      else if (event.type === 'error') return null;
    }
    if (!isComplete) return null;
    for (const [index, block] of blocks.entries()) if (block?.type === 'tool_use' && inputs[index]) block.input = parseInput(inputs[index]);
    return readBlocks(blocks.filter(Boolean), stop, usage);
  },

  readWhole: (body) => (Array.isArray(body.content) ? readBlocks(asList(body.content), body.stop_reason, asObject(body.usage)) : null),

  readUsage: toUsage,

  writeEvents(text, model) {
    const message = createMessage('', model);
    const start = { ...message, content: [], stop_reason: null };
    return [
      { type: 'message_start', message: start },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ]
      .map((event) => writeEvent(event, event.type))
      .join('');
  },

  writeWhole: (text, model) => createMessage(text, model),

  refusal: (message) => ({ status: 402, body: { type: 'error', error: { type: 'billing_error', message } } }),
  error: (status, message) => ({ type: 'error', error: { type: status === 404 ? 'not_found_error' : 'invalid_request_error', message } }),
};

function createMessage(text: string, model: string): Body {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const content = [{ type: 'text', text }];
  return { id: 'msg_retinue', type: 'message', role: 'assistant', model, content, stop_reason: 'end_turn', stop_sequence: null, usage };
}
