// `offline/surveyor` and `offline/slow-surveyor`: rules behind the interface of a language model. It surveys the workspace with the tools that it is offered and does
// nothing else: it opens no file itself, uses no network and remembers nothing between calls. offline/next-step.ts decides what it does.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Content, LanguageModelV4Usage } from '@ai-sdk/provider';
import { RetinueError } from '../contract/error.ts';
import type { Clock } from '../ports/clock.ts';
import type { ModelHandle } from '../ports/model.ts';
import { type ModelAnswerContent, streamAnswer } from './answer-stream.ts';
import type { Provider } from './models.ts';
import { createCallId, readConversation } from './offline/conversation.ts';
import { planNextStep, type SurveyStep } from './offline/next-step.ts';
import { wait } from './script/wait.ts';

const id = 'offline/surveyor';
const slowId = 'offline/slow-surveyor';
const chunkSize = 400;
/** A slow answer comes in this many pieces, so that people can watch. */
const slowChunks = 50;
const slowChunkMs = 100;

/** The provider `offline`. No other model falls back to it. */
export function createOfflineModels({ clock }: { clock: Clock }): Provider {
  const handles = [createHandle(id, createSurveyor(id)), createHandle(slowId, createSlowSurveyor(clock))];
  return async (rest) => {
    const handle = handles.find((each) => each.id === `offline/${rest}`);
    if (handle !== undefined) return handle;
    throw new RetinueError(
      'unknown_model',
      `unknown model ${JSON.stringify(`offline/${rest}`)}: the offline models are ${id} and ${slowId}`,
    );
  };
}

function createHandle(modelId: string, model: LanguageModelV4): ModelHandle {
  return { id: modelId, lane: 'offline', model, contextWindow: null, maxOutputTokens: null, price: () => 0 };
}

function createSurveyor(modelId: string): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'offline',
    modelId,
    supportedUrls: {},
    async doStream(options) {
      options.abortSignal?.throwIfAborted();
      return { stream: streamAnswer(createAnswer(options, modelId), { chunkSize }, options.abortSignal) };
    },
    async doGenerate(options) {
      options.abortSignal?.throwIfAborted();
      return { ...createAnswer(options, modelId), warnings: [] };
    },
  };
}

/** The same answers, streamed as slowly as those of a language model. */
function createSlowSurveyor(clock: Clock): LanguageModelV4 {
  return {
    ...createSurveyor(slowId),
    async doStream(options) {
      options.abortSignal?.throwIfAborted();
      const answer = createAnswer(options, slowId);
      const length = answer.content.reduce((sum, part) => sum + JSON.stringify(part).length, 0);
      const pace = { chunkSize: Math.ceil(length / slowChunks), pause: () => wait(clock, slowChunkMs, options.abortSignal) };
      return { stream: streamAnswer(answer, pace, options.abortSignal) };
    },
  };
}

/** Depends on the call options alone: the same conversation gets the same answer. */
function createAnswer(options: LanguageModelV4CallOptions, model: string): ModelAnswerContent {
  const conversation = readConversation(options, model);
  let step: SurveyStep;
  try {
    step = planNextStep(conversation);
  } catch (error) {
    // Not retryable: the same rules would fail again.
    throw new RetinueError('internal', `${id} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  const content: LanguageModelV4Content[] = [{ type: 'text', text: step.text.toWellFormed() }];
  for (const [index, { tool, input }] of step.calls.entries()) {
    content.push({ type: 'tool-call', toolCallId: createCallId(conversation.turns, index), toolName: tool, input: JSON.stringify(input) });
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
