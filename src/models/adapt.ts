// Adapts model objects of the AI SDK's interfaces V2 and V3 to V4, the one that the kernel uses.
//
// Parts and options that only V4 has are dropped. Usage, finish reasons and files are converted. The original model and its inputs are not
// modified.
import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { RetinueError } from '../contract/error.ts';
import { convertContent, convertFinish, convertPart, convertUsage, type OldAnswer, type OldPart } from './adapt/answer.ts';
import { convertPrompt } from './adapt/prompt.ts';

/** Throws RetinueError `unknown_model` if the value is no model of the AI SDK. */
export function adaptModel(model: unknown): LanguageModelV4 {
  const version = findVersion(model);
  return version === 'v4' ? (model as LanguageModelV4) : adaptOlderModel(model as OlderModel, version);
}

function findVersion(model: unknown): 'v2' | 'v3' | 'v4' {
  if (typeof model !== 'object' || model === null) throw createModelError(`it is ${model === null ? 'null' : `a ${typeof model}`}`);
  const { specificationVersion, doStream, modelId } = model as Partial<LanguageModelV4>;
  if (typeof doStream !== 'function' || typeof modelId !== 'string') throw createModelError('it has no doStream or no modelId');
  if (specificationVersion === 'v4' || specificationVersion === 'v3' || specificationVersion === 'v2') return specificationVersion;
  throw createModelError(
    `its specificationVersion is ${JSON.stringify(specificationVersion) ?? 'missing'}, and only v2, v3 and v4 are known`,
  );
}

function createModelError(why: string): RetinueError {
  return new RetinueError('unknown_model', `this is no language model of the AI SDK: ${why}`);
}

type OlderModel = Pick<LanguageModelV2 | LanguageModelV3, 'provider' | 'modelId' | 'supportedUrls'> & {
  doGenerate(options: unknown): PromiseLike<OldAnswer>;
  doStream(options: unknown): PromiseLike<{ stream: ReadableStream<OldPart> }>;
};

function adaptOlderModel(model: OlderModel, version: 'v2' | 'v3'): LanguageModelV4 {
  const toOlderOptions = ({ reasoning: _, ...options }: LanguageModelV4CallOptions) => ({
    ...options,
    prompt: convertPrompt(version, options.prompt),
    ...(options.tools && { tools: options.tools.map((tool) => convertTool(version, tool)) }),
  });
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate(options) {
      const { content, finishReason, usage } = await model.doGenerate(toOlderOptions(options));
      return {
        content: content.map(convertContent),
        finishReason: convertFinish(finishReason, usage),
        usage: convertUsage(usage),
        warnings: [],
      };
    },
    async doStream(options) {
      const { stream } = await model.doStream(toOlderOptions(options));
      const converter = new TransformStream<OldPart, LanguageModelV4StreamPart>({
        transform: (part, controller) => controller.enqueue(convertPart(part)),
      });
      return { stream: stream.pipeThrough(converter) };
    },
  };
}

type Tool = NonNullable<LanguageModelV4CallOptions['tools']>[number];

function convertTool(version: 'v2' | 'v3', tool: Tool): unknown {
  return version === 'v2' && tool.type === 'provider' ? { ...tool, type: 'provider-defined' } : tool;
}
