import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { failure, type Refusal, refuse } from './refusal.ts';
import { readable } from './text.ts';
import { withDeadline } from './web/deadline.ts';
import { readBody } from './web/read-body.ts';
import { get } from './web/request.ts';

const Input = z.strictObject({ query: z.string().trim().min(1).max(1000).describe('What to search for, as in a search engine.') });
type Input = z.infer<typeof Input>;

/** The owner's own choice, so it may be on a private address. */
export interface SearchBackend {
  kind: 'searxng' | 'brave';
  /** Of SearXNG: where it is (its `json` format must be enabled). Of Brave: `https://api.search.brave.com`. */
  baseURL: string;
  apiKey?: string;
}

const shownResults = 10;
const maxBytes = 1024 * 1024;
const timeoutMs = 20_000;

const unconfigured =
  'websearch has no search engine: nobody has configured one. Whoever started Retinue can set SEARXNG_URL to the address of a SearXNG ' +
  'instance (with its json format enabled), or BRAVE_API_KEY. Until then use webfetch with an address that you know.';

export function createWebsearch(backend: SearchBackend | null): Tool<Input> {
  return {
    name: 'websearch',
    description: `Searches the web; gives up to ${shownResults} results with title, address and excerpt. Read a page with webfetch before you rely on it.`,
    input: Input,
    readOnly: true,
    idempotent: true,
    timeoutMs: timeoutMs + 2000,
    maxOutputBytes: 20_000,
    subjects: ({ query }) => [query],
    async execute({ query }, { signal }) {
      if (backend === null) return failure(unconfigured);
      return withDeadline(timeoutMs, signal, async (within) => {
        const found = await ask(backend, query, within);
        return found.ok ? render(found.results, query) : { ...failure(`the search failed: ${readable(found.reason)}`), taint: ['web'] };
      });
    },
  };
}

interface Result {
  title: string;
  url: string;
  excerpt: string;
}

type Found = { ok: true; results: Result[] } | Refusal;

async function ask(backend: SearchBackend, query: string, signal: AbortSignal): Promise<Found> {
  const url = addressOf(backend, query);
  if (url === null) return refuse('the address of the search engine in the configuration is none');
  const key =
    backend.apiKey === undefined
      ? {}
      : backend.kind === 'brave'
        ? { 'x-subscription-token': backend.apiKey }
        : { authorization: `Bearer ${backend.apiKey}` };
  const headers = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': 'Retinue (websearch)', ...key };
  const got = await get({ url, headers, allows: () => true, signal });
  if (!got.ok) return got;
  const { statusCode = 0 } = got.response;
  const body = await readBody(got.response, maxBytes, signal);
  if (statusCode !== 200) return refuse(statusProblem(backend, statusCode));
  if (!body.ok) return body;
  return read(body.bytes.toString('utf8'), backend);
}

function addressOf({ kind, baseURL }: SearchBackend, query: string): URL | null {
  const base = URL.parse(baseURL.replace(/\/*$/, '/'));
  if (base === null) return null;
  const url = new URL(kind === 'searxng' ? 'search' : 'res/v1/web/search', base);
  url.searchParams.set('q', query);
  if (kind === 'searxng') url.searchParams.set('format', 'json');
  else url.searchParams.set('count', String(shownResults));
  return url;
}

function statusProblem({ kind }: SearchBackend, status: number): string {
  if (kind === 'searxng' && status === 403)
    return 'SearXNG refuses the json format (status 403); enable it under search.formats in its settings';
  if (status === 401 || status === 403 || status === 422) return `${kind} refused the key (status ${status})`;
  return status === 429 ? `${kind} wants to be asked less often (status 429)` : `${kind} answered with status ${status}`;
}

const Entry = z.object({ title: z.string().catch(''), url: z.string(), content: z.string().nullish(), description: z.string().nullish() });
const Answers = {
  searxng: z.object({ results: z.array(z.unknown()) }).transform(({ results }) => results),
  // Brave leaves `web` out where it has found nothing.
  brave: z.object({ web: z.object({ results: z.array(z.unknown()) }).optional() }).transform(({ web }) => web?.results ?? []),
};

function read(text: string, { kind }: SearchBackend): Found {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return refuse(`${kind} answered with something that is no JSON`);
  }
  const parsed = Answers[kind].safeParse(answer);
  if (!parsed.success) return refuse(`${kind} answered in a form that is not known here`);
  const entries = parsed.data.map((entry) => Entry.safeParse(entry)).flatMap((entry) => (entry.success ? [entry.data] : []));
  const results = entries
    .slice(0, shownResults)
    .map(({ title, url, content, description }) => ({ title, url, excerpt: content ?? description ?? '' }));
  return { ok: true, results };
}

function render(results: Result[], query: string): ToolResult {
  if (results.length === 0) return { output: `[nothing found for ${readable(query)}]`, taint: ['web'] };
  const lines = results.map(({ title, url, excerpt }, index) => {
    const head = `${index + 1}. [${plain(title, 300) || 'no title'}](${plain(url, 2000)})`;
    return excerpt === '' ? head : `${head}\n   ${plain(excerpt, 800)}`;
  });
  return { output: lines.join('\n'), taint: ['web'] };
}

/** One line without tags: search engines mark the words that were found. */
function plain(text: string, chars: number): string {
  const untagged = text.slice(0, chars * 2).replace(/<\/?[a-z][^<>]{0,100}>/gi, '');
  return readable(untagged).replace(/\s+/g, ' ').trim().slice(0, chars).toWellFormed();
}
