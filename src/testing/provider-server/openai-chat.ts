// OpenAI's Chat Completions API, as the many servers that are compatible with it speak it (Ollama's `/v1` too).
import { type Answer, pieces, type Wire, type WireEvent } from './types.ts';

const finishReasons = { stop: 'stop', length: 'length', 'tool-calls': 'tool_calls', 'content-filter': 'content_filter' };

export const openaiChat: Wire = {
  ping: ': ping\n\n',
  done: 'data: [DONE]\n\n',

  events(answer) {
    const delta = (part: WireEvent['part'], choice: object, more: object = {}): WireEvent => ({
      part,
      data: { ...shell(answer), object: 'chat.completion.chunk', choices: [{ index: 0, finish_reason: null, ...choice }], ...more },
    });
    const { chunkSize } = answer;
    const events = [delta('begin', { delta: { role: 'assistant', content: '' } })];
    for (const text of pieces(answer.reasoning, chunkSize)) events.push(delta('content', { delta: { reasoning_content: text } }));
    for (const content of pieces(answer.text, chunkSize)) events.push(delta('content', { delta: { content } }));
    for (const [index, call] of answer.calls.entries()) {
      const first = { index, ...callOf({ ...call, input: '' }) };
      events.push(delta('content', { delta: { tool_calls: [first] } }));
      for (const text of pieces(call.input, chunkSize)) {
        events.push(delta('content', { delta: { tool_calls: [{ index, function: { arguments: text } }] } }));
      }
    }
    events.push(delta('end', { delta: {}, finish_reason: finishReasons[answer.finish] }));
    if (answer.usage) events.push({ part: 'end', data: { ...shell(answer), choices: [], usage: usageOf(answer.usage) } });
    return events;
  },

  whole: (answer) => ({
    ...shell(answer),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: answer.text === '' ? null : answer.text,
          ...(answer.reasoning === '' ? {} : { reasoning_content: answer.reasoning }),
          ...(answer.calls.length === 0 ? {} : { tool_calls: answer.calls.map(callOf) }),
        },
        finish_reason: finishReasons[answer.finish],
      },
    ],
    ...(answer.usage ? { usage: usageOf(answer.usage) } : {}),
  }),

  error: (fault) => ({ error: errorOf(fault) }),
  errorEvent: (fault) => ({ part: 'content', data: { error: errorOf(fault) } }),
};

function shell({ id, model }: Answer) {
  return { id: `chatcmpl-${id}`, created: 1_750_000_000, model };
}

function callOf({ id, tool, input, signature }: Answer['calls'][number]) {
  const extra = signature === null ? {} : { extra_content: { google: { thought_signature: signature } } };
  return { id, type: 'function', function: { name: tool, arguments: input }, ...extra };
}

function usageOf({ input, output, cached, reasoning }: NonNullable<Answer['usage']>) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function errorOf({ status, message, type }: { status: number; message: string; type?: string }) {
  return { message, type: type ?? (status === 429 ? 'rate_limit_exceeded' : 'error'), param: null, code: type ?? status };
}
