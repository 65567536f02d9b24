import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestServer } from './support.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'retinue-static-'));
  mkdirSync(join(folder, 'web', 'assets'), { recursive: true });
  writeFileSync(join(folder, 'web', 'index.html'), '<title>dashboard</title>');
  writeFileSync(join(folder, 'web', 'assets', 'index-B1gH4sh0.js'), 'export {};');
  writeFileSync(join(folder, 'web', 'icon.svg'), '<svg/>');
  writeFileSync(join(folder, 'web', '.secret.txt'), 'hidden');
  writeFileSync(join(folder, 'outside.txt'), 'outside');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const serve = () => createTestServer({ listen: { web: join(folder, 'web') } });

it.each([
  ['/', 'text/html; charset=utf-8', 'no-cache', '<title>dashboard</title>'],
  ['/runs/0123456789abcdef', 'text/html; charset=utf-8', 'no-cache', '<title>dashboard</title>'],
  ['/assets/index-B1gH4sh0.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable', 'export {};'],
  ['/icon.svg', 'image/svg+xml', 'no-cache', '<svg/>'],
])('serves %s', async (path, type, caching, text) => {
  await using server = await serve();
  const answer = await server.ask(path, { token: null });
  expect([answer.status, answer.headers['content-type'], answer.headers['cache-control'], answer.text]).toEqual([200, type, caching, text]);
  const again = await server.ask(path, { token: null, headers: { 'if-none-match': answer.headers.etag as string } });
  expect([again.status, again.text]).toEqual([304, '']);
});

it.each([
  '/../outside.txt',
  '/%2e%2e/outside.txt',
  '/..%2foutside.txt',
  '/assets/..%2f..%2foutside.txt',
  '/.secret.txt',
  '/missing.js',
  '/%ff.js',
])('answers 404 for %s', async (path) => {
  await using server = await serve();
  const answer = await fetchRaw(server.server.port, path);
  expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  expect(answer).not.toContain('outside\n');
  expect(answer).not.toContain('hidden');
});

it('compresses text for readers that accept it', async () => {
  await using server = await serve();
  const answer = await fetch(`${server.server.url}/`, { headers: { 'accept-encoding': 'gzip' } });
  expect(answer.headers.get('content-encoding')).toBe('gzip');
  expect(await answer.text()).toBe('<title>dashboard</title>');
});

it('says how to build the dashboard if it is missing', async () => {
  await using server = await createTestServer({ listen: { web: join(folder, 'nothing') } });
  const answer = await server.ask('/', { token: null });
  expect([answer.status, answer.text]).toEqual([503, expect.stringContaining('npm run build')]);
});

/** Sends the path as it is: clients remove dots. */
function fetchRaw(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`),
    );
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}
