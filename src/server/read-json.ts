// Reads the JSON body of a request, within a bound.
import type { Context } from 'hono';
import { isJsonDeeperThan } from '../text/json-depth.ts';
import { HttpFailure } from './errors.ts';

export const maxBodyBytes = 1_048_576;
/** What no brief or answer needs. */
const maxDepth = 100;

/** An empty body counts as `{}`. Throws `unsupported_media_type`, `too_large` or `bad_request`. */
export async function readJson(context: Context): Promise<unknown> {
  const type = context.req.header('content-type');
  if (type === undefined || !/^application\/json *(;|$)/i.test(type))
    throw new HttpFailure('unsupported_media_type', 'send the body as `Content-Type: application/json`');
  const encoding = context.req.header('content-encoding') ?? 'identity';
  if (encoding !== 'identity')
    throw new HttpFailure('unsupported_media_type', 'the body is compressed; send it as it is, without `Content-Encoding`');
  const text = (await readBody(context.req.raw)).toString('utf8');
  if (text.trim() === '') return {};
  if (isJsonDeeperThan(text, maxDepth))
    throw new HttpFailure('bad_request', `the body is nested more than ${maxDepth} levels deep; make it flatter`);
  try {
    return JSON.parse(text);
  } catch (error) {
    const place = /\(line \d+ column \d+\)/.exec(String(error))?.[0];
    throw new HttpFailure('bad_request', `the body is not valid JSON${place === undefined ? '' : ` ${place}`}; send one JSON object`);
  }
}

async function readBody(request: Request): Promise<Buffer> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (request.body !== null)
    for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > maxBodyBytes) throw tooLarge();
      chunks.push(chunk);
    }
  return Buffer.concat(chunks);
}

function tooLarge(): HttpFailure {
  return new HttpFailure(
    'too_large',
    `a body has at most ${maxBodyBytes} bytes; put long texts into files of the workspace, and name these`,
  );
}
