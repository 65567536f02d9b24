// OpenAI's Chat Completions API, which compatible servers also use (including Ollama's `/v1`).
import { type Answer, splitText, type Wire, type WireEvent } from './types.ts';

const finishReasons = { stop: 'stop', length: 'length', 'tool-calls': 'tool_calls', 'content-filter': 'content_filter' };

export const openaiChat: Wire = {
  ping: ': ping\n\n',
  done: 'data: [DONE]\n\n',

  events(answer) {
    const delta = (part: WireEvent['part'], choice: object, more: object = {}): WireEvent => ({
      part,
      data: {
        ...createEnvelope(answer),
        object: 'chat.completion.chunk',
        choices: [{ index: 0, finish_reason: null, ...choice }],
        ...more,
      },
    });
    const { chunkSize } = answer;
    const events = [delta('begin', { delta: { role: 'assistant', content: '' } })];
    for (const text of splitText(answer.reasoning, chunkSize)) events.push(delta('content', { delta: { reasoning_content: text } }));
    for (const content of splitText(answer.text, chunkSize)) events.push(delta('content', { delta: { content } }));
    for (const [index, call] of answer.calls.entries()) {
      const first = { index, ...createCall({ ...call, input: '' }) };
      events.push(delta('content', { delta: { tool_calls: [first] } }));
      for (const text of splitText(call.input, chunkSize)) {
        events.push(delta('content', { delta: { tool_calls: [{ index, function: { arguments: text } }] } }));
      }
    }
    events.push(delta('end', { delta: {}, finish_reason: finishReasons[answer.finish] }));
    if (answer.usage) events.push({ part: 'end', data: { ...createEnvelope(answer), choices: [], usage: createUsage(answer.usage) } });
    return events;
  },

  whole: (answer) => ({
    ...createEnvelope(answer),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: answer.text === '' ? null : answer.text,
          ...(answer.reasoning === '' ? {} : { reasoning_content: answer.reasoning }),
          ...(answer.calls.length === 0 ? {} : { tool_calls: answer.calls.map(createCall) }),
        },
        finish_reason: finishReasons[answer.finish],
      },
    ],
    ...(answer.usage ? { usage: createUsage(answer.usage) } : {}),
  }),

  error: (fault) => ({ error: createError(fault) }),
  errorEvent: (fault) => ({ part: 'content', data: { error: createError(fault) } }),
};

function createEnvelope({ id, model }: Answer) {
  return { id: `chatcmpl-${id}`, created: 1_750_000_000, model };
}

function createCall({ id, tool, input, signature }: Answer['calls'][number]) {
  const extra = signature === null ? {} : { extra_content: { google: { thought_signature: signature } } };
  return { id, type: 'function', function: { name: tool, arguments: input }, ...extra };
}

function createUsage({ input, output, cached, reasoning }: NonNullable<Answer['usage']>) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function createError({ status, message, type }: { status: number; message: string; type?: string }) {
  return { message, type: type ?? (status === 429 ? 'rate_limit_exceeded' : 'error'), param: null, code: type ?? status };
}
