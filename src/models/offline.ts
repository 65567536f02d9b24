import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Content, LanguageModelV4Usage } from '@ai-sdk/provider';
import { RetinueError } from '../contract/error.ts';
import type { ModelHandle } from '../ports/model.ts';
import type { Provider } from './models.ts';
import { type Conversation, callId, readConversation } from './offline/conversation.ts';
import { nextStep, type Step } from './offline/step.ts';
import type { Answer } from './script/answer.ts';
import { streamOf } from './script/stream.ts';

const name = 'surveyor';
const id = `offline/${name}`;
const chunkChars = 400;

/**
 * `offline/surveyor`: rules in the place of a language model. Whatever it is asked, it surveys the workspace with the tools that
 * it is offered, and with nothing else: it opens no file and keeps nothing between calls. Nobody gets it without naming it.
 */
export function createOfflineModels(): Provider {
  const handle: ModelHandle = { id, lane: 'offline', model: surveyor, contextWindow: null, maxOutputTokens: null, price: () => 0 };
  return async (rest) => {
    if (rest === name) return handle;
    throw new RetinueError('unknown_model', `unknown model ${JSON.stringify(`offline/${rest}`)}: the only one without network is ${id}`);
  };
}

const surveyor: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'offline',
  modelId: id,
  supportedUrls: {},
  async doStream(options) {
    options.abortSignal?.throwIfAborted();
    return { stream: streamOf(answerOf(options), { chunkSize: chunkChars, hang: false, error: undefined }, options.abortSignal) };
  },
  async doGenerate(options) {
    options.abortSignal?.throwIfAborted();
    return { ...answerOf(options), warnings: [] };
  },
};

/** A function of the call options alone: the same conversation gets the same answer. */
function answerOf(options: LanguageModelV4CallOptions): Answer {
  const talk = readConversation(options);
  const { text, calls } = stepOf(talk);
  const content: LanguageModelV4Content[] = [{ type: 'text', text: text.toWellFormed() }];
  for (const [index, { tool, input }] of calls.entries()) {
    content.push({ type: 'tool-call', toolCallId: callId(talk.turns, index), toolName: tool, input: JSON.stringify(input) });
  }
  const unified = calls.length > 0 ? 'tool-calls' : 'stop';
  return { content, finishReason: { unified, raw: unified }, usage: usageOf(options, content) };
}

/** A fault in the rules fails the run at once: trying again would end the same way. */
function stepOf(talk: Conversation): Step {
  try {
    return nextStep(talk);
  } catch (error) {
    throw new RetinueError('internal', `${id} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/**
 * Rules use no tokens. A third of the bytes stands for them, so that limits hold; each byte of the conversation is counted once, when
 * it is new, because nothing is read twice.
 */
function usageOf({ prompt }: LanguageModelV4CallOptions, content: LanguageModelV4Content[]): LanguageModelV4Usage {
  const spoken = prompt.findLastIndex((message) => message.role === 'assistant');
  const input = tokens(prompt.slice(spoken + 1));
  const output = tokens(content);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: output, reasoning: undefined },
  };
}

function tokens(value: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 3);
}
