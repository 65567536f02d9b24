import { expect, test } from 'vitest';
import { createWebsearch, type SearchBackend } from '../../src/tools/websearch.ts';
import { call } from './support.ts';
import { serve } from './web-server.ts';

const search = (backend: SearchBackend | null, query = 'cats & dogs') => call(createWebsearch(backend), '/', { query });

test('explains how to configure a search engine', async () => {
  const { output, isError } = await search(null);
  expect(isError).toBe(true);
  expect(output).toMatch(/^websearch has no search engine configured.*searxng.*brave/i);
});

test('SearXNG', async () => {
  const results = [
    { title: 'A <b>cat</b>\n', url: 'https://a.org/?q=1', content: 'About <strong>cats</strong>\u202e.' },
    { title: '', url: 'https://b.org/', content: null },
    { broken: true },
    ...Array.from({ length: 20 }, (_, n) => ({ title: `t${n}`, url: `https://c.org/${n}`, content: '' })),
  ];
  const { url, requests } = await serve((_, response) => void response.end(JSON.stringify({ query: 'x', results })));
  const { output, taint, isError } = await search({ kind: 'searxng', baseURL: `${url}/sub` });
  expect(requests[0]?.url).toBe('/sub/search?q=cats+%26+dogs&format=json');
  expect(output.split('\n').slice(0, 4)).toEqual([
    '1. [A cat](https://a.org/?q=1)',
    '   About cats.',
    '2. [no title](https://b.org/)',
    '3. [t0](https://c.org/0)',
  ]);
  expect(output.split('\n')).toHaveLength(11);
  expect(taint).toEqual(['web']);
  expect(isError).toBeUndefined();
});

test('Brave, with its key in a header and nowhere else', async () => {
  const { url, requests } = await serve(
    (_, response) => void response.end(JSON.stringify({ web: { results: [{ title: 'T', url: 'https://a.org', description: 'd' }] } })),
  );
  const { output } = await search({ kind: 'brave', baseURL: url, apiKey: 'canary' });
  expect(requests[0]?.url).toBe('/res/v1/web/search?q=cats+%26+dogs&count=10');
  expect(requests[0]?.headers['x-subscription-token']).toBe('canary');
  expect(output).toBe('1. [T](https://a.org)\n   d');
});

test('nothing found', async () => {
  const { url } = await serve((_, response) => void response.end('{}'));
  expect(await search({ kind: 'brave', baseURL: url })).toEqual({ output: '[nothing found for cats & dogs]', taint: ['web'] });
});

test.each([
  { status: 200, body: '<html>', reason: 'is not JSON' },
  { status: 200, body: '[]', reason: 'has an unknown format' },
  { status: 200, body: `{"results": [${'[],'.repeat(600_000)}`, reason: 'is not JSON' },
  { status: 302, body: '', reason: 'status 302' },
  { status: 403, body: '', reason: 'enable it under search.formats' },
  { status: 429, body: '', reason: 'no more requests for now' },
  { status: 500, body: 'canary', reason: 'status 500' },
])('$status $reason', async ({ status, body, reason }) => {
  const { url } = await serve((_, response) => void response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(body));
  const { output, isError } = await search({ kind: 'searxng', baseURL: url, apiKey: 'canary' });
  expect(isError).toBe(true);
  expect(output).toContain(reason);
  expect(output).not.toContain('canary');
});

test('reports an invalid address and an unreachable server', async () => {
  expect((await search({ kind: 'searxng', baseURL: 'nonsense' })).output).toContain('is not valid');
  expect((await search({ kind: 'searxng', baseURL: 'http://127.0.0.1:1' })).output).toContain('does not accept connections');
});
