// Fetches a text from the web, following redirects.
import type { IncomingMessage } from 'node:http';
import { createToolRefusal, type Refusal } from '../refusal.ts';
import { acceptEncoding, decodeBody, readBody } from './read-body.ts';
import { type Resolve, sendGet } from './request.ts';

const maxRedirects = 5;
export const maxBytes = 5 * 1024 * 1024;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

export interface FetchedText {
  ok: true;
  /** After all redirects. */
  url: URL;
  status: number;
  /** The media type without parameters, in lower case; '' if the server sent none. */
  type: string;
  text: string;
  whole: boolean;
}

export interface FetchOptions {
  allows(address: string): boolean;
  /** Returns why a redirect to this address must not be followed, or null. */
  forbids(url: URL): string | null;
  resolve?: Resolve | undefined;
  signal: AbortSignal;
}

/** Each address on the way is checked when the connection is made. Rejects only when the signal fires. */
export async function fetchText(asked: string, options: FetchOptions): Promise<FetchedText | Refusal> {
  let parsed = parseAddress(asked, undefined);
  for (let hops = 0; parsed.ok; hops++) {
    const { url } = parsed;
    const headers = {
      accept: 'text/markdown, text/html;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1',
      'accept-encoding': acceptEncoding,
      'user-agent': 'Retinue (webfetch)',
    };
    const got = await sendGet({ url, headers, ...options });
    if (!got.ok) return got;
    const { response } = got;
    const { statusCode: status = 0, headers: answer } = response;
    if (!redirectStatuses.has(status) || answer.location === undefined) return readText(response, url, options.signal);
    response.destroy();
    if (hops === maxRedirects)
      return createToolRefusal(`more than ${maxRedirects} redirects; the last one leads to ${answer.location.slice(0, 500)}`);
    parsed = parseAddress(answer.location, url.href);
    const forbidden = parsed.ok ? options.forbids(parsed.url) : null;
    if (forbidden !== null)
      return createToolRefusal(`${url.href} leads to ${answer.location.slice(0, 500)}, which is not followed: ${forbidden}`);
  }
  return parsed;
}

function parseAddress(text: string, base: string | undefined): { ok: true; url: URL } | Refusal {
  const url = URL.parse(text, base);
  if (url === null) return createToolRefusal(`url: ${text.slice(0, 200)} is not a valid address`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return createToolRefusal(`url: only http and https are fetched, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '') return createToolRefusal('url: addresses with a user name or password are not fetched');
  url.hash = '';
  return { ok: true, url };
}

async function readText(response: IncomingMessage, url: URL, signal: AbortSignal): Promise<FetchedText | Refusal> {
  const { statusCode: status = 0, headers } = response;
  const contentType = headers['content-type'] ?? '';
  const type = (contentType.split(';', 1)[0] as string).trim().toLowerCase();
  if (!isText(type)) {
    response.destroy();
    return createToolRefusal(`${url.href} is ${type}, not text`);
  }
  const body = await readBody(response, maxBytes, signal);
  if (!body.ok) return createToolRefusal(`${url.href}: ${body.reason}`);
  const text = decodeBody(body.bytes, contentType);
  if (text.slice(0, 8192).includes('\0')) return createToolRefusal(`${url.href} is binary, not text`);
  return { ok: true, url, status, type, text, whole: body.whole };
}

function isText(type: string): boolean {
  if (type === '' || type.startsWith('text/')) return true;
  return /^application\/(?:[\w.-]+\+)?(?:json|xml|xhtml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|ld\+json|x-ndjson|jsonl|rtf|sql|graphql|x-sh)$/.test(
    type,
  );
}
