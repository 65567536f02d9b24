// The body of a request over HTTP, read before the official transport sees it: what a message needs depends on its content.
import { isJsonDeeperThan } from '../text/json-depth.ts';
import { createRpcError, rpcCodes } from './rpc-error.ts';

const maxBytes = 4 * 1024 * 1024;
/** What no tool call needs. */
const maxDepth = 100;

/** Nothing for a request without JSON: the transport refuses it where that is wrong. A response: the refusal. */
export async function readBody(request: Request): Promise<{ body?: unknown } | Response> {
  const type = request.headers.get('content-type') ?? '';
  if (request.method !== 'POST' || !/^\s*application\/json\s*(;|$)/i.test(type)) return {};
  const text = await readText(request);
  if (text === null) return createRpcError(413, rpcCodes.unavailable, `a request has at most ${maxBytes} bytes`);
  if (isJsonDeeperThan(text, maxDepth))
    return createRpcError(400, rpcCodes.unreadable, `the request is nested more than ${maxDepth} levels deep`);
  try {
    return { body: JSON.parse(text) };
  } catch {
    return createRpcError(400, rpcCodes.unreadable, 'the request is not valid JSON');
  }
}

/** Null if it is too large. */
async function readText(request: Request): Promise<string | null> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (request.body !== null)
    for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > maxBytes) return null;
      chunks.push(chunk);
    }
  return Buffer.concat(chunks).toString('utf8');
}
