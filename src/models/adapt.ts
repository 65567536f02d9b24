// Models that are given to the library: any of the AI SDK's interfaces from V2 to V4, as the V4 that our loop drives.
//
// What older interfaces cannot say falls away: parts and options that V4 added. What they say differently is said anew: usage as plain
// numbers, the finish as a word, files without their wrapping. Nothing that was given is changed.
import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { RetinueError } from '../contract/error.ts';
import { contentOf, finishOf, type OldAnswer, type OldPart, partOf, usageOf } from './adapt/answer.ts';
import { promptFor } from './adapt/prompt.ts';

/** The same model as V4. RetinueError `unknown_model` for what is no model of the AI SDK. */
export function adaptModel(model: unknown): LanguageModelV4 {
  const version = versionOf(model);
  return version === 'v4' ? (model as LanguageModelV4) : fromOlder(model as Older, version);
}

function versionOf(model: unknown): 'v2' | 'v3' | 'v4' {
  if (typeof model !== 'object' || model === null) throw refused(`it is ${model === null ? 'null' : `a ${typeof model}`}`);
  const { specificationVersion, doStream, modelId } = model as Partial<LanguageModelV4>;
  if (typeof doStream !== 'function' || typeof modelId !== 'string') throw refused('it has no doStream and modelId');
  if (specificationVersion === 'v4' || specificationVersion === 'v3' || specificationVersion === 'v2') return specificationVersion;
  throw refused(`its specificationVersion is ${JSON.stringify(specificationVersion) ?? 'missing'}, and only v2, v3 and v4 are known`);
}

function refused(why: string): RetinueError {
  return new RetinueError('unknown_model', `this is no language model of the AI SDK: ${why}`);
}

type Older = Pick<LanguageModelV2 | LanguageModelV3, 'provider' | 'modelId' | 'supportedUrls'> & {
  doGenerate(options: unknown): PromiseLike<OldAnswer>;
  doStream(options: unknown): PromiseLike<{ stream: ReadableStream<OldPart> }>;
};

function fromOlder(model: Older, version: 'v2' | 'v3'): LanguageModelV4 {
  const down = ({ reasoning: _, ...options }: LanguageModelV4CallOptions) => ({
    ...options,
    prompt: promptFor(version, options.prompt),
    ...(options.tools && { tools: options.tools.map((tool) => toolFor(version, tool)) }),
  });
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate(options) {
      const { content, finishReason, usage } = await model.doGenerate(down(options));
      return { content: content.map(contentOf), finishReason: finishOf(finishReason, usage), usage: usageOf(usage), warnings: [] };
    },
    async doStream(options) {
      const { stream } = await model.doStream(down(options));
      const each = new TransformStream<OldPart, LanguageModelV4StreamPart>({
        transform: (part, controller) => controller.enqueue(partOf(part)),
      });
      return { stream: stream.pipeThrough(each) };
    },
  };
}

type Tool = NonNullable<LanguageModelV4CallOptions['tools']>[number];

function toolFor(version: 'v2' | 'v3', tool: Tool): unknown {
  return version === 'v2' && tool.type === 'provider' ? { ...tool, type: 'provider-defined' } : tool;
}
