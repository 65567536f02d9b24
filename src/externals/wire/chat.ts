// OpenAI's Chat Completions protocol, which many servers use.
import type { Usage } from '../../contract/content.ts';
import {
  asCount,
  asList,
  asObject,
  assertLocalContent,
  asText,
  contentText,
  keepFields,
  messagesSinceAnswer,
  openAiError,
  parseInput,
  toOpenAiUsage,
  writeEvent,
} from './body.ts';
import type { Body, Wire, WireAnswer, WireCall } from './types.ts';

/** One answer for each request (`n`), and only the current form of tools: others would not be judged. */
const fields = [
  ...['model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'max_tokens', 'max_completion_tokens', 'stop', 'seed'],
  ...['temperature', 'top_p', 'top_k', 'min_p', 'presence_penalty', 'frequency_penalty', 'repetition_penalty', 'logit_bias'],
  ...['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'verbosity', 'response_format'],
  ...['user', 'metadata', 'prompt_cache_key', 'safety_identifier'],
];
const counts = ['prompt_tokens', 'completion_tokens'] as const;

const finishes: Record<string, WireAnswer['finish']> = {
  stop: 'stop',
  tool_calls: 'tool-calls',
  length: 'length',
  content_filter: 'content-filter',
};

function toCall(call: Body): WireCall {
  const { name, arguments: input } = asObject(call.function);
  return { id: asText(call.id), name: asText(name), input: parseInput(asText(input)) };
}

/** Calls in a second choice, or in the old form, would reach the agent without being judged. */
function isOnlyChoice(choices: Body[], { function_call: old }: Body): boolean {
  return choices.length === 1 && asCount(choices[0]?.index) === 0 && (old === undefined || old === null);
}

export const chat: Wire = {
  path: '/v1/chat/completions',
  headers: [],
  ping: ': ping\n\n',

  restrict(body) {
    assertLocalContent(body.messages);
    const kept = keepFields(body, fields);
    if (kept.stream === true) kept.stream_options = { include_usage: true };
    if (kept.tools !== undefined) kept.tools = asList(kept.tools).filter(({ type }) => type === 'function');
    return kept;
  },

  probe: (model) => ({ model, messages: [{ role: 'user', content: 'Answer with OK.' }] }),

  results: (body) =>
    messagesSinceAnswer(body).flatMap((message) =>
      message.role === 'tool' ? [{ id: asText(message.tool_call_id), isError: false, output: contentText(message.content) }] : [],
    ),

  readEvents(events) {
    const calls: { id: string; name: string; input: string }[] = [];
    let text = '';
    let finish: unknown = null;
    let usage: Usage | null = null;
    for (const event of events) {
      if (event.error !== undefined) return null;
      usage = toOpenAiUsage(asObject(event.usage), counts) ?? usage;
      const choices = asList(event.choices);
      const [choice] = choices;
      if (!choice) continue;
      const delta = asObject(choice.delta);
      if (!isOnlyChoice(choices, delta)) return null;
      text += asText(delta.content);
      finish = choice.finish_reason ?? finish;
      for (const part of asList(delta.tool_calls)) {
        const index = asCount(part.index);
        const call = calls[index] ?? { id: '', name: '', input: '' };
        const { name, arguments: input } = asObject(part.function);
        calls[index] = { id: call.id || asText(part.id), name: call.name + asText(name), input: call.input + asText(input) };
      }
    }
    if (finish === null) return null;
    const found = calls.filter(Boolean).map(({ id, name, input }) => ({ id, name, input: parseInput(input) }));
    return { calls: found, text, finish: finishes[asText(finish)] ?? 'other', usage };
  },

  readWhole(body) {
    const choices = asList(body.choices);
    const [choice] = choices;
    if (!choice) return null;
    const message = asObject(choice.message);
    if (!isOnlyChoice(choices, message)) return null;
    const calls = asList(message.tool_calls).map(toCall);
    return {
      calls,
      text: contentText(message.content),
      finish: finishes[asText(choice.finish_reason)] ?? 'other',
      usage: toOpenAiUsage(asObject(body.usage), counts),
    };
  },

  readUsage: (given) => toOpenAiUsage(given, counts),

  writeEvents(text, model) {
    const chunk = (delta: Body, finish_reason: string | null) =>
      writeEvent({ id: 'retinue', object: 'chat.completion.chunk', created: 0, model, choices: [{ index: 0, delta, finish_reason }] });
    return `${chunk({ role: 'assistant', content: text }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`;
  },

  writeWhole: (text, model) => ({
    id: 'retinue',
    object: 'chat.completion',
    created: 0,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),

  refusal: (message) => ({ status: 402, body: { error: { type: 'billing_error', code: 'insufficient_quota', message } } }),
  error: (_status, message) => openAiError(message),
};
