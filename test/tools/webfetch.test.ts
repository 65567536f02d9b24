import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createWebfetch } from '../../src/tools/webfetch.ts';
import { call } from './support.ts';
import { serve } from './web-server.ts';

const webfetch = createWebfetch({ allowAddress: (address) => address === '127.0.0.1' });
const fetch = (url: string) => call(webfetch, '/', { url });

test('returns a page as Markdown with its title and address', async () => {
  const { url, requests } = await serve((_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end('<title>Ti &amp; tle</title><h1>Head</h1><p>See <a href="../b?x=1">this</a>.<script>no()</script>');
  });
  expect(await fetch(`${url}/a/page#part`)).toEqual({
    output: `# Ti & tle\n[${url}/a/page]\n\n# Head\n\nSee [this](${url}/b?x=1).`,
    taint: ['web'],
  });
  expect(requests[0]?.headers).toMatchObject({ 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'Retinue (webfetch)' });
  expect(requests[0]?.headers).not.toHaveProperty('cookie');
});

test.each([
  { name: 'plain text', type: 'text/plain', body: 'a <b>', text: 'a <b>' },
  { name: 'JSON', type: 'application/json', body: '{"a":1}', text: '{"a":1}' },
  { name: 'a feed', type: 'application/atom+xml; charset=utf-8', body: '<feed/>', text: '<feed/>' },
  { name: 'no type, HTML', type: '', body: '<!DOCTYPE html><p>x', text: 'x' },
  { name: 'no type, text', type: '', body: 'x', text: 'x' },
  { name: 'nothing', type: 'text/html', body: '', text: '[the page has no text]' },
  { name: 'Latin-1 by header', type: 'text/plain; charset=iso-8859-1', body: Buffer.from([0xe9]), text: 'é' },
  {
    name: 'Latin-1 by meta',
    type: 'text/html',
    body: Buffer.concat([Buffer.from('<meta charset="latin1"><p>'), Buffer.from([0xe9])]),
    text: 'é',
  },
  { name: 'UTF-16 by its mark', type: 'text/plain', body: Buffer.from('\ufeffhi', 'utf16le'), text: 'hi' },
  { name: 'an unknown charset', type: 'text/plain; charset=nonsense', body: 'é', text: 'é' },
  { name: 'invisible characters', type: 'text/plain', body: 'a\u200b\u202eb\x1b[31m', text: 'ab[31m' },
])('$name', async ({ type, body, text }) => {
  const { url } = await serve((_, response) => {
    if (type) response.setHeader('content-type', type);
    response.end(body);
  });
  expect(await fetch(url)).toEqual({ output: `[${url}/]\n\n${text}`, taint: ['web'] });
});

test.each([
  { encoding: 'gzip', pack: gzipSync },
  { encoding: 'deflate', pack: deflateSync },
  { encoding: 'br', pack: brotliCompressSync },
])('$encoding', async ({ encoding, pack }) => {
  const { url } = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': encoding });
    response.end(pack('unpacked'));
  });
  expect((await fetch(url)).output).toContain('unpacked');
});

test.each([
  { name: 'an image', headers: { 'content-type': 'image/png' }, body: 'x', reason: /is image\/png, not text/ },
  { name: 'a binary that claims to be text', headers: { 'content-type': 'text/plain' }, body: 'a\0b', reason: /is binary, not text/ },
  { name: 'two encodings', headers: { 'content-encoding': 'gzip, gzip' }, body: 'x', reason: /unsupported content encoding/ },
  { name: 'an unknown encoding', headers: { 'content-encoding': 'toString' }, body: 'x', reason: /unsupported content encoding/ },
  { name: 'a body without its encoding', headers: { 'content-encoding': 'gzip' }, body: 'plain', reason: /broke off/ },
])('refuses $name', async ({ headers, body, reason }) => {
  const { url } = await serve((_, response) => void response.writeHead(200, headers).end(body));
  expect(await fetch(url)).toMatchObject({ isError: true, output: expect.stringMatching(reason), taint: ['web'] });
});

test('an error status is an error result with the text of the page', async () => {
  const { url } = await serve((_, response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<p>Not here'));
  expect(await fetch(url)).toEqual({ output: `[${url}/ answered with status 404]\n\nNot here`, taint: ['web'], isError: true });
});

test.each([
  { url: 'ftp://example.com/', reason: 'only http and https' },
  { url: 'file:///etc/passwd', reason: 'only http and https' },
  { url: 'data:text/html,x', reason: 'only http and https' },
  { url: 'example.com', reason: 'is not a valid address' },
  { url: 'http://user:pass@example.com/', reason: 'user name or password' },
  { url: 'http://does-not-exist.invalid/', reason: 'was not found' },
  { url: 'http://127.0.0.1:1/', reason: 'does not accept connections' },
])('$url', async ({ url, reason }) => {
  expect(await fetch(url)).toMatchObject({ isError: true, output: expect.stringContaining(reason) });
});

describe('redirects', () => {
  const chain = (length: number) =>
    serve((request, response) => {
      const n = Number(request.url?.slice(1));
      if (n >= length) response.end('arrived');
      else response.writeHead(302, { location: `/${n + 1}` }).end('moved');
    });

  test('five are followed', async () => {
    const { url } = await chain(5);
    expect((await fetch(`${url}/0`)).output).toBe(`[${url}/5]\n\narrived`);
  });

  test('a sixth is not', async () => {
    const { url, requests } = await chain(6);
    expect(await fetch(`${url}/0`)).toMatchObject({ isError: true, output: 'more than 5 redirects; the last one leads to /6' });
    expect(requests).toHaveLength(6);
  });

  test.each(['file:///etc/passwd', 'javascript:alert(1)', 'http://a:b@127.0.0.1/', 'http://['])('to %s', async (location) => {
    const { url } = await serve((_, response) => void response.writeHead(301, { location }).end());
    expect(await fetch(url)).toMatchObject({ isError: true });
  });
});

test('rules match the address in one spelling', () => {
  expect(webfetch.subjects({ url: 'HTTP://EXAMPLE.com:80/a/../b' }, { workspace: '/' })).toEqual(['http://example.com/b']);
  expect(webfetch.subjects({ url: 'http://0x7f.1/' }, { workspace: '/' })).toEqual(['http://127.0.0.1/']);
  expect(webfetch.subjects({ url: 'nonsense' }, { workspace: '/' })).toEqual(['nonsense']);
});
