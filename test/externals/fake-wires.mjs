// The protocols of models, as the fake agent speaks them: requests from a conversation, and answers to text and calls.
const parameters = { type: 'object' };
const names = ['Bash', 'Write'];

const parseEvents = (raw) =>
  raw
    .split('\n')
    .filter((line) => line.startsWith('data:') && !line.includes('[DONE]'))
    .map((line) => JSON.parse(line.slice(5)));

const messages = {
  path: '/v1/messages',
  tools: names.map((name) => ({ name, description: name, input_schema: parameters })),
  user: (text) => ({ role: 'user', content: text }),
  body: (history, more) => ({ max_tokens: 1000, messages: history, ...more }),
  read(raw, isStream) {
    const blocks = isStream ? readBlocks(raw) : JSON.parse(raw).content;
    const calls = blocks.filter(({ type }) => type === 'tool_use');
    const texts = blocks.filter(({ type }) => type === 'text').map(({ text }) => text);
    return { entries: [{ role: 'assistant', content: blocks }], texts, calls };
  },
  results: (all) => [
    {
      role: 'user',
      content: all.map(({ id, output, failed }) => ({ type: 'tool_result', tool_use_id: id, content: output, is_error: failed })),
    },
  ],
};

function readBlocks(raw) {
  const blocks = [];
  for (const event of parseEvents(raw)) {
    const { index, content_block: block, delta } = event;
    if (event.type === 'content_block_start') blocks[index] = { ...block, ...(block.type === 'tool_use' && { input: '' }) };
    if (event.type === 'content_block_delta' && delta.type === 'text_delta') blocks[index].text += delta.text;
    if (event.type === 'content_block_delta' && delta.type === 'input_json_delta') blocks[index].input += delta.partial_json;
  }
  return blocks.map((block) => (block.type === 'tool_use' ? { ...block, input: JSON.parse(block.input || '{}') } : block));
}

const chat = {
  path: '/v1/chat/completions',
  tools: names.map((name) => ({ type: 'function', function: { name, description: name, parameters } })),
  user: (text) => ({ role: 'user', content: text }),
  body: (history, more) => ({ messages: history, ...more }),
  read(raw, isStream) {
    const message = isStream ? readChunks(raw) : JSON.parse(raw).choices[0].message;
    const calls = (message.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      input: JSON.parse(call.function.arguments || '{}'),
    }));
    return { entries: [{ role: 'assistant', ...message }], texts: message.content ? [message.content] : [], calls };
  },
  results: (all) => all.map(({ id, output }) => ({ role: 'tool', tool_call_id: id, content: output })),
};

function readChunks(raw) {
  const calls = [];
  let content = '';
  for (const { choices } of parseEvents(raw)) {
    const delta = choices[0]?.delta ?? {};
    content += delta.content ?? '';
    for (const { index, id, function: part } of delta.tool_calls ?? []) {
      calls[index] ??= { id, type: 'function', function: { name: part.name, arguments: '' } };
      calls[index].function.arguments += part.arguments ?? '';
    }
  }
  return { content, ...(calls.length > 0 && { tool_calls: calls }) };
}

const responses = {
  path: '/v1/responses',
  tools: names.map((name) => ({ type: 'function', name, parameters })),
  user: (text) => ({ role: 'user', content: text }),
  body: (history, more) => ({ input: history, ...more }),
  read(raw, isStream) {
    const items = isStream
      ? parseEvents(raw).flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))
      : JSON.parse(raw).output;
    const calls = items
      .filter(({ type }) => type === 'function_call')
      .map((item) => ({ id: item.call_id, name: item.name, input: JSON.parse(item.arguments || '{}') }));
    const texts = items.filter(({ type }) => type === 'message').map(({ content }) => content.map(({ text }) => text).join(''));
    return { entries: items, texts, calls };
  },
  results: (all) => all.map(({ id, output }) => ({ type: 'function_call_output', call_id: id, output })),
};

export const wires = { messages, chat, responses };
