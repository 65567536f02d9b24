// `offline/surveyor`: rules behind the interface of a language model. It surveys the workspace with the tools that it is offered and does
// nothing else: it opens no file itself, uses no network and remembers nothing between calls. offline/next-step.ts decides what it does.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Content, LanguageModelV4Usage } from '@ai-sdk/provider';
import { RetinueError } from '../contract/error.ts';
import type { ModelHandle } from '../ports/model.ts';
import { type Answer, streamAnswer } from './answer-stream.ts';
import type { Provider } from './models.ts';
import { callId, readConversation } from './offline/conversation.ts';
import { nextStep, type Step } from './offline/next-step.ts';

const name = 'surveyor';
const id = `offline/${name}`;
const chunkSize = 400;

/** The provider `offline`. No other model falls back to it. */
export function createOfflineModels(): Provider {
  const handle: ModelHandle = { id, lane: 'offline', model: surveyor, contextWindow: null, maxOutputTokens: null, price: () => 0 };
  return async (rest) => {
    if (rest === name) return handle;
    throw new RetinueError('unknown_model', `unknown model ${JSON.stringify(`offline/${rest}`)}: the only offline model is ${id}`);
  };
}

const surveyor: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'offline',
  modelId: id,
  supportedUrls: {},
  async doStream(options) {
    options.abortSignal?.throwIfAborted();
    return { stream: streamAnswer(createAnswer(options), { chunkSize }, options.abortSignal) };
  },
  async doGenerate(options) {
    options.abortSignal?.throwIfAborted();
    return { ...createAnswer(options), warnings: [] };
  },
};

/** Depends on the call options alone: the same conversation gets the same answer. */
function createAnswer(options: LanguageModelV4CallOptions): Answer {
  const conversation = readConversation(options);
  let step: Step;
  try {
    step = nextStep(conversation);
  } catch (error) {
    // Not retryable: the same rules would fail again.
    throw new RetinueError('internal', `${id} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  const content: LanguageModelV4Content[] = [{ type: 'text', text: step.text.toWellFormed() }];
  for (const [index, { tool, input }] of step.calls.entries()) {
    content.push({ type: 'tool-call', toolCallId: callId(conversation.turns, index), toolName: tool, input: JSON.stringify(input) });
  }
  const unified = step.calls.length > 0 ? 'tool-calls' : 'stop';
  return { content, finishReason: { unified, raw: unified }, usage: estimateUsage(options, content) };
}

/** Rules use no tokens. One token for three bytes makes limits and displays work; each byte of the conversation counts once. */
function estimateUsage({ prompt }: LanguageModelV4CallOptions, content: LanguageModelV4Content[]): LanguageModelV4Usage {
  const lastAnswer = prompt.findLastIndex((message) => message.role === 'assistant');
  const input = estimateTokens(prompt.slice(lastAnswer + 1));
  const output = estimateTokens(content);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: output, reasoning: undefined },
  };
}

function estimateTokens(value: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 3);
}
