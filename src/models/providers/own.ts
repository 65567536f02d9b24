// A model over our own decoder of its wire format: what our loop sends goes the short way, without web streams. Whatever else the AI SDK's
// interface can say (files, provider tools, sampling, answers in one piece) goes through the AI SDK's package, loaded when it is needed.
//
// O1. The body of a request is the one that the package would send, byte for byte.
// O2. What comes back is told in the package's parts; failures carry the fields that the package's errors carry.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Bounds } from './bounds.ts';
import { createEventReader } from './events.ts';
import { createPoster, type Posted, statusError } from './post.ts';
import { type Open, openByStream, type PartSource, streamOf } from './source.ts';

export interface Format {
  /** After the base address. */
  path: string;
  headers(apiKey: string | undefined): Record<string, string>;
  /** The body of a request; null where it has something in it that only the package can say. */
  encode(modelId: string, options: LanguageModelV4CallOptions): string | null;
  decoder(take: (part: LanguageModelV4StreamPart) => void): Decoder;
}

/** Makes parts of events. What an answer must not be is thrown, and ends it. */
export interface Decoder {
  event(data: unknown): void;
  /** The stream ended properly. */
  end(): void;
}

/** A model, and the way past its interface. */
export interface Connected {
  model: LanguageModelV4;
  open: Open;
}

export interface OwnConnection {
  baseURL: string;
  apiKey: string | undefined;
  bounds: Bounds;
  /** The AI SDK's model of the same name. */
  behind(modelId: string): Promise<LanguageModelV4>;
  provider: string;
}

export async function connectOwn(format: Format, { baseURL, apiKey, bounds, behind, provider }: OwnConnection) {
  const post = await createPoster(`${baseURL}${format.path}`);
  const headers = { 'content-type': 'application/json', accept: '*/*', 'user-agent': 'retinue', ...format.headers(apiKey) };

  return (modelId: string): Connected => {
    let loaded: Promise<LanguageModelV4> | null = null;
    const rest = () => {
      loaded ??= behind(modelId);
      return loaded;
    };

    const open: Open = async (options) => {
      const body = format.encode(modelId, options);
      if (body === null) return openByStream(await rest())(options);
      const posted = await post({ headers, body, signal: options.abortSignal });
      const error = await statusError(posted, bounds);
      if (error) throw error;
      return sourceOf(format, posted, bounds);
    };

    const model: LanguageModelV4 = {
      specificationVersion: 'v4',
      provider,
      modelId,
      supportedUrls: {},
      doGenerate: async (options) => (await rest()).doGenerate(options),
      async doStream(options) {
        const stop = new AbortController();
        const signals = options.abortSignal ? [options.abortSignal, stop.signal] : [stop.signal];
        const source = await open({ ...options, abortSignal: AbortSignal.any(signals) });
        return { stream: streamOf(source, (reason) => stop.abort(reason)) };
      },
    };
    return { model, open };
  };
}

function sourceOf(format: Format, posted: Posted, bounds: Bounds): PartSource {
  return {
    async read(take) {
      take({ type: 'stream-start', warnings: [] });
      const decoder = format.decoder(take);
      const events = createEventReader(bounds, (data) => {
        if (data !== '[DONE]') decoder.event(parseEvent(data));
      });
      await posted.read((chunk) => events.push(chunk));
      decoder.end();
    },
  };
}

function parseEvent(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw Object.assign(new Error(`an event of the answer is no JSON: ${data.slice(0, 200)}`), { name: 'ProviderError' });
  }
}
