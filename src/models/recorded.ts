// `recorded/RUN`: repeats the answer that an ended run gave, without a model. Evals use it to judge recorded work again.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Content } from '@ai-sdk/provider';
import { RetinueError } from '../contract/error.ts';
import { recordedPrefix } from '../contract/eval.ts';
import type { Json } from '../contract/json.ts';
import { submitTool } from '../contract/tool-names.ts';
import { type ModelAnswerContent, streamAnswer } from './answer-stream.ts';
import type { Provider } from './models.ts';

export interface RecordedResult {
  text: string;
  /** The structured result, if it had one. */
  data?: Json | undefined;
  /** The models of the run, in order. */
  models: string[];
  /** Whether the price of the work is known. */
  isPriced: boolean;
}

/** The answer of an ended run that did its work; null for any other. */
export type ReadAnswer = (runId: string) => Promise<RecordedResult | null>;

export function createRecordedModels(read: ReadAnswer): Provider {
  return async (rest, { rootModel }) => {
    const id = `${recordedPrefix}${rest}`;
    // A model that names a run would learn the answer of any other tree.
    if (rootModel !== undefined && rootModel !== id)
      throw new RetinueError('unknown_model', `${JSON.stringify(id)}: only the user chooses a recorded answer as a model; omit \`model\``);
    const answer = /^[0-9a-f]{16}$/.test(rest) ? await read(rest) : null;
    if (answer === null)
      throw new RetinueError('unknown_model', `${JSON.stringify(id)}: this database has no run ${rest} that has completed its work`);
    return {
      id,
      lane: 'recorded',
      model: createModel(id, answer),
      contextWindow: null,
      maxOutputTokens: null,
      // As for the work: without a known price there is no built-in cost limit, so its reviewers need no known price either.
      price: answer.isPriced ? () => 0 : null,
      modelsForChildren: answer.models,
    };
  };
}

function createModel(modelId: string, recorded: RecordedResult): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'recorded',
    modelId,
    supportedUrls: {},
    async doStream(options) {
      options.abortSignal?.throwIfAborted();
      return { stream: streamAnswer(createAnswer(options, recorded), { chunkSize: 4_096 }, options.abortSignal) };
    },
    async doGenerate(options) {
      options.abortSignal?.throwIfAborted();
      return { ...createAnswer(options, recorded), warnings: [] };
    },
  };
}

function createAnswer({ tools = [], prompt }: LanguageModelV4CallOptions, { text, data }: RecordedResult): ModelAnswerContent {
  const wantsData = data !== undefined && tools.some(({ name }) => name === submitTool);
  const call = {
    type: 'tool-call' as const,
    toolCallId: `recorded-${prompt.length}`,
    toolName: submitTool,
    input: JSON.stringify(data ?? null),
  };
  const content: LanguageModelV4Content[] = wantsData ? [call] : [{ type: 'text', text }];
  const unified = wantsData ? 'tool-calls' : 'stop';
  return {
    content,
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: { total: 0, noCache: 0, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 0, text: 0, reasoning: undefined },
    },
  };
}
