// The `websearch` tool: asks a SearXNG instance or Brave.
import { z } from 'zod';
import type { Tool, ToolResult } from '../ports/tool.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure, createToolRefusal, type Refusal } from './refusal.ts';
import { cleanResultText } from './text.ts';
import { withDeadline } from './web/deadline.ts';

const Input = z.strictObject({ query: z.string().trim().min(1).max(1000).describe('What to search for, as in a search engine.') });
type Input = z.infer<typeof Input>;

/** Configured by the owner, so it may have a private address. */
export interface SearchBackend {
  kind: 'searxng' | 'brave';
  /** SearXNG: the address of the instance, which must have the `json` format enabled. Brave: `https://api.search.brave.com`. */
  baseURL: string;
  apiKey?: string;
}

const shownResults = 10;
const maxBytes = 1024 * 1024;
const timeoutMs = 20_000;

const unconfigured =
  'websearch has no search engine configured. The user who started Retinue can set SEARXNG_URL to the address of a SearXNG instance ' +
  '(with its json format enabled), or BRAVE_API_KEY. Until then, use webfetch with an address that you know.';

/** What makes requests is loaded for the first one. */
export function createWebsearch(backend: SearchBackend | null): Tool<Input> {
  return {
    name: 'websearch',
    description: `Searches the web and returns up to ${shownResults} results with title, address and excerpt. Read a page with webfetch before you rely on it.`,
    get input() {
      return Input;
    },
    inputSchema: inputSchemas.websearch,
    readOnly: true,
    idempotent: true,
    timeoutMs: timeoutMs + 2000,
    maxOutputBytes: 20_000,
    subjects: ({ query }) => [query],
    async execute({ query }, { signal }) {
      if (backend === null) return createToolFailure(unconfigured);
      return withDeadline(timeoutMs, signal, async (within) => {
        const found = await querySearch(backend, query, within);
        return found.ok
          ? renderResults(found.results, query)
          : { ...createToolFailure(`the search failed: ${cleanResultText(found.reason)}`), taint: ['web'] };
      });
    },
  };
}

interface Result {
  title: string;
  url: string;
  excerpt: string;
}

type SearchResults = { ok: true; results: Result[] } | Refusal;

async function querySearch(backend: SearchBackend, query: string, signal: AbortSignal): Promise<SearchResults> {
  const url = searchUrl(backend, query);
  if (url === null) return createToolRefusal('the configured address of the search engine is not valid');
  const key =
    backend.apiKey === undefined
      ? {}
      : backend.kind === 'brave'
        ? { 'x-subscription-token': backend.apiKey }
        : { authorization: `Bearer ${backend.apiKey}` };
  const headers = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': 'Retinue (websearch)', ...key };
  const [{ readBody }, { sendGet }] = await Promise.all([import('./web/read-body.ts'), import('./web/request.ts')]);
  const got = await sendGet({ url, headers, allows: () => true, signal });
  if (!got.ok) return got;
  const { statusCode = 0 } = got.response;
  const body = await readBody(got.response, maxBytes, signal);
  if (statusCode !== 200) return createToolRefusal(statusProblem(backend, statusCode));
  if (!body.ok) return body;
  return parseResults(body.bytes.toString('utf8'), backend);
}

function searchUrl({ kind, baseURL }: SearchBackend, query: string): URL | null {
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
  return status === 429
    ? `${kind} accepts no more requests for now (status 429); try again later`
    : `${kind} answered with status ${status}`;
}

const Entry = z.object({ title: z.string().catch(''), url: z.string(), content: z.string().nullish(), description: z.string().nullish() });
const Answers = {
  searxng: z.object({ results: z.array(z.unknown()) }).transform(({ results }) => results),
  // Brave omits `web` if it has found nothing.
  brave: z.object({ web: z.object({ results: z.array(z.unknown()) }).optional() }).transform(({ web }) => web?.results ?? []),
};

function parseResults(text: string, { kind }: SearchBackend): SearchResults {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return createToolRefusal(`the response of ${kind} is not JSON`);
  }
  const parsed = Answers[kind].safeParse(answer);
  if (!parsed.success) return createToolRefusal(`the response of ${kind} has an unknown format`);
  const entries = parsed.data.map((entry) => Entry.safeParse(entry)).flatMap((entry) => (entry.success ? [entry.data] : []));
  const results = entries
    .slice(0, shownResults)
    .map(({ title, url, content, description }) => ({ title, url, excerpt: content ?? description ?? '' }));
  return { ok: true, results };
}

function renderResults(results: Result[], query: string): ToolResult {
  if (results.length === 0) return { output: `[nothing found for ${cleanResultText(query)}]`, taint: ['web'] };
  const lines = results.map(({ title, url, excerpt }, index) => {
    const head = `${index + 1}. [${toPlainLine(title, 300) || 'no title'}](${toPlainLine(url, 2000)})`;
    return excerpt === '' ? head : `${head}\n   ${toPlainLine(excerpt, 800)}`;
  });
  return { output: lines.join('\n'), taint: ['web'] };
}

/** Removes the tags that search engines use for highlighting, and joins lines. */
function toPlainLine(text: string, chars: number): string {
  const untagged = text.slice(0, chars * 2).replace(/<\/?[a-z][^<>]{0,100}>/gi, '');
  return cleanResultText(untagged).replace(/\s+/g, ' ').trim().slice(0, chars).toWellFormed();
}
