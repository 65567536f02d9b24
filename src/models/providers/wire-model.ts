// A model that encodes and decodes its provider's wire format itself, without web streams: the fast path for everything that the kernel sends.
// Other requests (files, provider tools, sampling, answers in one piece) use the AI SDK's package, which is loaded on demand.
//
// O1. The body of a request equals the package's, byte for byte.
// O2. Answers consist of the package's parts, and errors have the fields of the package's errors.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type Bounds, isOk } from './bounds.ts';
import { createEventReader } from './events.ts';
import type { PostResponse } from './exchange.ts';
import { createPoster, identityEncoding, readStatusError } from './http-post.ts';
import { type OpenSource, openModelStream, type PartSource, sourceToStream } from './part-source.ts';

export interface WireFormat {
  /** Appended to the base address. */
  path: string;
  headers(apiKey: string | undefined): Record<string, string>;
  /** The body of a request; null if only the package supports these options. */
  encode(modelId: string, options: LanguageModelV4CallOptions): string | null;
  createDecoder(take: (part: LanguageModelV4StreamPart) => void): Decoder;
}

/** Converts events to parts. Throws for events that violate the format, which ends the answer. */
export interface Decoder {
  event(data: unknown): void;
  /** Called when the stream ends without an error. */
  end(): void;
}

/** A model, and a way to its answers without web streams, if there is one. */
export interface ConnectedModel {
  model: LanguageModelV4;
  open?: OpenSource;
}

export interface WireConnection {
  baseURL: string;
  apiKey: string | undefined;
  bounds: Bounds;
  /** The AI SDK's model of the same id. */
  loadPackageModel(modelId: string): Promise<LanguageModelV4>;
  provider: string;
}

export async function connectWire(format: WireFormat, { baseURL, apiKey, bounds, loadPackageModel, provider }: WireConnection) {
  const post = await createPoster(`${baseURL}${format.path}`);
  const common = { 'content-type': 'application/json', accept: '*/*', 'user-agent': 'retinue', ...identityEncoding };
  const headers = { ...common, ...format.headers(apiKey) };

  return (modelId: string): ConnectedModel => {
    let loaded: Promise<LanguageModelV4> | null = null;
    const packageModel = () => {
      loaded ??= loadPackageModel(modelId);
      return loaded;
    };

    const open: OpenSource = async (options, signal) => {
      const body = format.encode(modelId, options);
      if (body === null) return openModelStream(await packageModel())(options, signal);
      const response = await post({ headers, body, signal });
      if (!isOk(response.status)) throw await readStatusError(response, bounds);
      return createPartSource(format, response, bounds);
    };

    const model: LanguageModelV4 = {
      specificationVersion: 'v4',
      provider,
      modelId,
      supportedUrls: {},
      doGenerate: async (options) => (await packageModel()).doGenerate(options),
      async doStream(options) {
        const stop = new AbortController();
        const { abortSignal, ...rest } = options;
        const source = await open(rest, abortSignal ? AbortSignal.any([abortSignal, stop.signal]) : stop.signal);
        return { stream: sourceToStream(source, (reason) => stop.abort(reason)) };
      },
    };
    return { model, open };
  };
}

function createPartSource(format: WireFormat, response: PostResponse, bounds: Bounds): PartSource {
  return {
    async read(take) {
      take({ type: 'stream-start', warnings: [] });
      const decoder = format.createDecoder(take);
      const events = createEventReader(bounds, (data) => {
        if (data !== '[DONE]') decoder.event(parseEvent(data));
      });
      await response.read((chunk) => events.push(chunk));
      decoder.end();
    },
  };
}

function parseEvent(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw Object.assign(new Error(`an event of the answer is not JSON: ${data.slice(0, 200)}`), { name: 'ProviderError' });
  }
}
