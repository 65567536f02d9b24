// OpenAI's Responses API, the default of the AI SDK's OpenAI provider.
import { type Answer, splitText, type Wire, type WireEvent } from './types.ts';

export const openaiResponses: Wire = {
  ping: ': ping\n\n',

  events(answer) {
    let sequence = 0;
    const event = (part: WireEvent['part'], data: { type: string; [key: string]: unknown }): WireEvent => ({
      name: data.type,
      data: { ...data, sequence_number: sequence++ },
      part,
    });
    const started = { ...createEnvelope(answer), status: 'in_progress', output: [] };
    const events = [
      event('begin', { type: 'response.created', response: started }),
      event('begin', { type: 'response.in_progress', response: started }),
    ];
    for (const [output_index, item] of createItems(answer).entries()) {
      events.push(event('content', { type: 'response.output_item.added', output_index, item: item.started }));
      for (const data of item.deltas) events.push(event('content', { ...data, item_id: item.id, output_index }));
      events.push(event('content', { type: 'response.output_item.done', output_index, item: item.whole }));
    }
    const { type, response } = createFinalResponse(answer);
    events.push(event('end', { type, response }));
    return events;
  },

  whole: (answer) => createFinalResponse(answer).response,

  error: (fault) => ({ error: createError(fault) }),
  errorEvent: (fault) => ({
    name: 'error',
    data: { type: 'error', sequence_number: 0, error: createError(fault) },
    part: 'content',
  }),
};

function createEnvelope({ id, model }: Answer) {
  return { id: `resp_${id}`, object: 'response', created_at: 1_750_000_000, model, error: null };
}

function createError({ status, message, type }: { status: number; message: string; type?: string }) {
  const code = type ?? (status === 429 ? 'rate_limit_exceeded' : status >= 500 ? 'server_error' : 'invalid_request_error');
  return { message, type: code, param: null, code };
}

function createFinalResponse(answer: Answer) {
  const incompleteReason = { length: 'max_output_tokens', 'content-filter': 'content_filter' }[answer.finish as string];
  const response = {
    ...createEnvelope(answer),
    status: incompleteReason ? 'incomplete' : 'completed',
    incomplete_details: incompleteReason ? { reason: incompleteReason } : null,
    output: createItems(answer).map((item) => item.whole),
    usage: createUsage(answer.usage),
  };
  return { type: incompleteReason ? 'response.incomplete' : 'response.completed', response };
}

function createUsage(usage: Answer['usage']) {
  if (!usage) return null;
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}

interface Item {
  id: string;
  started: object;
  deltas: { type: string; [key: string]: unknown }[];
  whole: object;
}

function createItems(answer: Answer): Item[] {
  const items: Item[] = [];
  if (answer.reasoning !== '' || answer.signature !== null) items.push(createReasoningItem(answer));
  if (answer.text !== '') items.push(createMessageItem(answer));
  return [...items, ...answer.calls.map((call, index) => createCallItem(answer, call, index))];
}

function createReasoningItem({ id, reasoning, signature, chunkSize }: Answer): Item {
  const base = { type: 'reasoning', id: `rs_${id}` };
  const summary_index = 0;
  const summary = reasoning === '' ? [] : [{ type: 'summary_text', text: reasoning }];
  const texts = splitText(reasoning, chunkSize).map((delta) => ({ type: 'response.reasoning_summary_text.delta', summary_index, delta }));
  const part = { type: 'summary_text', text: reasoning };
  return {
    id: base.id,
    started: { ...base, summary: [], encrypted_content: signature && '' },
    deltas:
      reasoning === ''
        ? []
        : [
            { type: 'response.reasoning_summary_part.added', summary_index, part: { ...part, text: '' } },
            ...texts,
            { type: 'response.reasoning_summary_part.done', summary_index, part },
          ],
    whole: { ...base, summary, encrypted_content: signature },
  };
}

function createMessageItem({ id, text, chunkSize }: Answer): Item {
  const base = { type: 'message', id: `item_${id}`, role: 'assistant' };
  const content_index = 0;
  return {
    id: base.id,
    started: { ...base, status: 'in_progress', content: [] },
    deltas: splitText(text, chunkSize).map((delta) => ({ type: 'response.output_text.delta', content_index, delta })),
    whole: { ...base, status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] },
  };
}

function createCallItem({ id, chunkSize, finish }: Answer, call: Answer['calls'][number], index: number): Item {
  const base = { type: 'function_call', id: `fc_${id}_${index}`, call_id: call.id, name: call.tool };
  return {
    id: base.id,
    started: { ...base, status: 'in_progress', arguments: '' },
    deltas: [
      ...splitText(call.input, chunkSize).map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
      { type: 'response.function_call_arguments.done', arguments: call.input },
    ],
    whole: { ...base, status: finish === 'length' ? 'incomplete' : 'completed', arguments: call.input },
  };
}
