// OpenAI's Responses protocol. The last event of a stream has the whole response, but some servers leave its output empty, so finished items count as well: an
// agent may read either.
import {
  asList,
  asObject,
  assertLocalContent,
  asText,
  contentText,
  keepFields,
  openAiError,
  parseInput,
  toOpenAiUsage,
  writeEvent,
} from './body.ts';
import type { Body, Wire, WireAnswer, WireCall } from './types.ts';

const fields = [
  ...[
    'model',
    'input',
    'instructions',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'stream',
    'max_output_tokens',
    'temperature',
    'top_p',
  ],
  ...['reasoning', 'text', 'include', 'truncation', 'user', 'metadata', 'client_metadata', 'prompt_cache_key', 'safety_identifier'],
];
const counts = ['input_tokens', 'output_tokens'] as const;

/** Tools that the agent executes. Everything else is executed by the provider. */
const ownTools = new Set(['function', 'custom', 'local_shell', 'namespace']);
const resultTypes = new Set(['function_call_output', 'custom_tool_call_output', 'local_shell_call_output']);

function toCall(item: Body): WireCall[] {
  const id = asText(item.call_id);
  if (item.type === 'function_call') return [{ id, name: asText(item.name), input: parseInput(asText(item.arguments)) }];
  if (item.type === 'custom_tool_call') return [{ id, name: asText(item.name), input: asText(item.input) }];
  if (item.type === 'local_shell_call') return [{ id, name: 'shell', input: asObject(item.action) }];
  // A call of a kind that is not known is judged by its name; the provider's own search needs no judgement.
  const isCall = asText(item.type).endsWith('_call') && item.type !== 'web_search_call';
  return isCall ? [{ id: id || asText(item.id), name: asText(item.type), input: item }] : [];
}

function itemKey(item: Body): string {
  return asText(item.call_id) || asText(item.id) || JSON.stringify(item);
}

function readResponse(response: Body, items: Body[]): WireAnswer {
  const calls = items.flatMap(toCall);
  const text = items.flatMap((item) => (item.type === 'message' ? [contentText(item.content)] : [])).join('');
  const isCut = response.status === 'incomplete';
  const finish = calls.length > 0 ? 'tool-calls' : isCut ? 'length' : 'stop';
  return { calls, text, finish, usage: toOpenAiUsage(asObject(response.usage), counts) };
}

function keepOwnTools(tools: unknown, canSearch: boolean): Body[] {
  return asList(tools).flatMap((tool) => {
    const type = asText(tool.type);
    if (!ownTools.has(type)) return canSearch && type.startsWith('web_search') ? [tool] : [];
    return type === 'namespace' ? [{ ...tool, tools: keepOwnTools(tool.tools, false) }] : [tool];
  });
}

export const responses: Wire = {
  path: '/v1/responses',
  headers: ['openai-beta'],
  ping: ': ping\n\n',

  restrict(body, canSearch) {
    if (body.previous_response_id !== undefined && body.previous_response_id !== null)
      throw new Error('previous_response_id is not allowed: send the whole conversation');
    assertLocalContent(body.input);
    const kept: Body = { ...keepFields(body, fields), store: false };
    if (kept.tools !== undefined) kept.tools = keepOwnTools(kept.tools, canSearch);
    return kept;
  },

  probe: (model) => ({ model, max_output_tokens: 16, input: 'Answer with OK.' }),

  results: (body) =>
    asList(body.input).flatMap((item) => {
      if (!resultTypes.has(asText(item.type))) return [];
      const output = typeof item.output === 'string' ? item.output : contentText(item.output) || JSON.stringify(item.output ?? '');
      return [{ id: asText(item.call_id), isError: false, output }];
    }),

  readEvents(events) {
    const end = events.findLast(({ type }) => type === 'response.completed' || type === 'response.incomplete');
    if (!end) return null;
    const response = asObject(end.response);
    const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => asObject(item));
    const known = new Set(done.map(itemKey));
    return readResponse(response, [...done, ...asList(response.output).filter((item) => !known.has(itemKey(item)))]);
  },

  readWhole: (body) => (Array.isArray(body.output) ? readResponse(body, asList(body.output)) : null),

  readUsage: (given) => toOpenAiUsage(given, counts),

  writeEvents(text, model) {
    const response = createResponse(text, model);
    const [item] = response.output as Body[];
    return [
      { type: 'response.created', response: { ...response, output: [], status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [], status: 'in_progress' } },
      { type: 'response.output_text.delta', item_id: 'msg_retinue', output_index: 0, content_index: 0, delta: text },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ]
      .map((event, sequence_number) => writeEvent({ ...event, sequence_number }, event.type))
      .join('');
  },

  writeWhole: (text, model) => createResponse(text, model),

  refusal: (message) => ({ status: 429, body: { error: { type: 'insufficient_quota', code: 'insufficient_quota', message } } }),
  error: (_status, message) => openAiError(message),
};

function createResponse(text: string, model: string): Body {
  const content = [{ type: 'output_text', text, annotations: [] }];
  const item = { id: 'msg_retinue', type: 'message', role: 'assistant', status: 'completed', content };
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  };
  return { id: 'resp_retinue', object: 'response', created_at: 0, status: 'completed', model, output: [item], usage };
}
