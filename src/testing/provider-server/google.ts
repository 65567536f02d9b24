// Google's generateContent and streamGenerateContent. Function calls and thought signatures are sent in one piece.
import { type Answer, splitText, type Wire, type WireEvent } from './types.ts';

const finishReasons = { stop: 'STOP', length: 'MAX_TOKENS', 'tool-calls': 'STOP', 'content-filter': 'SAFETY' };
const statuses: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

export const google: Wire = {
  ping: ': ping\n\n',

  events(answer) {
    const chunk = (part: WireEvent['part'], candidate: object, more: object = {}): WireEvent => ({
      part,
      data: { candidates: [{ index: 0, ...candidate }], modelVersion: answer.model, responseId: answer.id, ...more },
    });
    const content = createParts(answer, answer.chunkSize).map((part) => chunk('content', { content: { role: 'model', parts: [part] } }));
    const last = { content: { role: 'model', parts: [] }, finishReason: finishReasons[answer.finish] };
    return [...content, chunk('end', last, createUsage(answer))];
  },

  whole: (answer) => ({
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: createParts(answer, Number.POSITIVE_INFINITY) },
        finishReason: finishReasons[answer.finish],
      },
    ],
    modelVersion: answer.model,
    responseId: answer.id,
    ...createUsage(answer),
  }),

  error: (fault) => ({ error: createError(fault) }),
  errorEvent: (fault) => ({ part: 'content', data: { error: createError(fault) } }),
};

function createParts(answer: Answer, size: number): object[] {
  const calls = answer.calls.map(({ id, tool, input, signature }) => ({
    functionCall: { id, name: tool, args: parseOrKeep(input) },
    ...(signature === null ? {} : { thoughtSignature: signature }),
  }));
  const thoughts = splitOrKeep(answer.reasoning, size).map((text, index, all) => ({
    text,
    thought: true,
    ...(answer.signature !== null && index === all.length - 1 ? { thoughtSignature: answer.signature } : {}),
  }));
  return [...thoughts, ...splitOrKeep(answer.text, size).map((text) => ({ text })), ...calls];
}

function splitOrKeep(text: string, size: number): string[] {
  return text === '' ? [] : size === Number.POSITIVE_INFINITY ? [text] : splitText(text, size);
}

function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function createUsage({ usage }: Answer): object {
  if (!usage) return {};
  return {
    usageMetadata: {
      promptTokenCount: usage.input,
      candidatesTokenCount: usage.output - usage.reasoning,
      thoughtsTokenCount: usage.reasoning,
      cachedContentTokenCount: usage.cached,
      totalTokenCount: usage.input + usage.output,
    },
  };
}

function createError({ status, message, type }: { status: number; message: string; type?: string }) {
  return { code: status, message, status: type ?? statuses[status] ?? 'UNKNOWN' };
}
