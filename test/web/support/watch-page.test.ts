// The other tests of the dashboard rely on these reports: a watch that misses something would let them pass.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { useBrowser } from './use-browser.ts';
import { watchPages } from './watch-page.ts';

const browser = useBrowser();

async function reportsOf(html: string, policy: string | null): Promise<string[]> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html', ...(policy === null ? {} : { 'content-security-policy': policy }) });
    response.end(`<!doctype html><link rel="icon" href="data:,"><title>t</title><body>${html}<p id="end">end</p>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const context = await browser().newContext();
  try {
    const { problems } = await watchPages(context, origin, [/ERR_|expected by the test/]);
    const page = await context.newPage();
    await page.goto(origin);
    await page.waitForSelector('#end');
    await expect.poll(() => problems.length + (html === '' ? 1 : 0)).toBeGreaterThan(0);
    return problems;
  } finally {
    await context.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

it.each([
  ['an image of another server', '<img src="https://outside.invalid/x.png">', /^request to https:\/\/outside\.invalid\/x\.png$/],
  ['an error on the console', '<script>console.error("broken")</script>', /^console: broken$/],
  ['an exception', '<script>throw new Error("thrown")</script>', /^page error: .*thrown/],
  ['a dialog', '<img src="data:," onerror="alert(1)">', /^dialog: 1$/],
  ['a new window', '<script>window.open("about:blank")</script>', /^new window/],
  ['a web socket', '<script>new WebSocket("wss://outside.invalid/")</script>', /^web socket to wss:\/\/outside\.invalid\/$/],
])('reports %s', async (_, html, report) => {
  expect(await reportsOf(html, null)).toContainEqual(expect.stringMatching(report));
});

it.each([
  ['a script', '<script>alert(1)</script>', /^content security policy: script-src-elem inline/],
  ['an event handler', '<img src="data:," onerror="alert(1)">', /^content security policy: script-src-attr inline/],
  ['a style', '<p style="color: red">', /^content security policy: style-src-attr inline/],
  ['an image', '<img src="https://outside.invalid/x.png">', /^content security policy: img-src https:\/\/outside\.invalid/],
])('reports %s that the content security policy stopped', async (_, html, report) => {
  expect(await reportsOf(html, "default-src 'none'; img-src data:")).toContainEqual(expect.stringMatching(report));
});

it('reports nothing for a page without faults, and nothing that a test allows', async () => {
  expect(await reportsOf('', "default-src 'none'; img-src data:")).toEqual([]);
  const context = await browser().newContext();
  const { problems } = await watchPages(context, 'http://127.0.0.1', [/expected by the test/]);
  const page = await context.newPage();
  await page.evaluate(() => console.error('expected by the test'));
  await page.evaluate(() => console.error('unexpected'));
  await expect.poll(() => problems).toEqual(['console: unexpected']);
  await context.close();
});
