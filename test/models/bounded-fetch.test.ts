import { expect, test } from 'vitest';
import { createBoundedFetch } from '../../src/models/providers/bounded-fetch.ts';

const bounds = { lineBytes: 10, answerBytes: 30, errorBytes: 5 };

function fetching(chunks: string[], init: ResponseInit = {}) {
  let cancelled = false;
  const bytes = chunks.map((chunk) => new TextEncoder().encode(chunk));
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = bytes.shift();
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
      cancel() {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const fetch = createBoundedFetch(async () => new Response(body, init), bounds);
  return { read: async () => (await fetch('http://x/')).text(), cancelled: () => cancelled };
}

test.each<[string, string[]]>([
  ['nothing', []],
  ['lines up to the limit', ['0123456789\n0123456789\n', '01234567']],
  ['lines over several chunks', ['012345', '6789', '\n0', '12345678', '9\n']],
  ['many short lines', ['\n\n\n', 'a\nb\nc\n', '\n']],
])('passes %s', async (_, chunks) => {
  expect(await fetching(chunks).read()).toBe(chunks.join(''));
});

test.each<[string, string[], RegExp]>([
  ['a line in one chunk', ['0123456789x'], /a line of the answer is larger than 10 bytes/],
  ['a line over chunks', ['a\n01234', '56789', 'x', 'never read'], /a line of the answer/],
  ['a line that ends at last', ['01234', '567890\n', 'never read'], /a line of the answer/],
  ['too many lines', ['123456789\n', '123456789\n', '123456789\n', 'x'], /the answer is larger than 30 bytes/],
])('rejects %s', async (_, chunks, message) => {
  const { read } = fetching(chunks);
  await expect(read()).rejects.toMatchObject({ code: 'provider', retryable: false, message: expect.stringMatching(message) });
});

test('stops reading at the limit', async () => {
  const endless = fetching(Array<string>(1000).fill('0123'));
  await expect(endless.read()).rejects.toThrow('a line of the answer');
  expect(endless.cancelled()).toBe(true);
});

test('error bodies have a lower limit', async () => {
  await expect(fetching(['0123', '45'], { status: 500 }).read()).rejects.toThrow('larger than 5 bytes');
  expect(await fetching(['0123'], { status: 500 }).read()).toBe('0123');
});

test('a web page is rejected', async () => {
  const page = fetching(['<html>'], { headers: { 'content-type': 'text/html; charset=utf-8' } });
  await expect(page.read()).rejects.toMatchObject({ code: 'provider', retryable: false, message: expect.stringContaining('web page') });
  expect(page.cancelled()).toBe(true);
});
