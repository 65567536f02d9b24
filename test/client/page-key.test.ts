// The client in a page of the server: it takes the key of the page from the address and sends it to its own origin alone.
import { afterEach, expect, it, vi } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { takePageKey } from '../../src/client/page-key.ts';

function createPage(hash: string, stored: Map<string, string> | null = new Map()) {
  const location = { hash, pathname: '/', search: '?workspace=w', href: `http://127.0.0.1:7717/${hash}`, origin: 'http://127.0.0.1:7717' };
  const shown: string[] = [];
  const history = { state: null, replaceState: (_: unknown, __: string, url: string) => void shown.push(url) };
  const localStorage = {
    getItem: (name: string) => {
      if (stored === null) throw new Error('blocked');
      return stored.get(name) ?? null;
    },
    setItem: (name: string, value: string) => {
      if (stored === null) throw new Error('blocked');
      stored.set(name, value);
    },
  };
  return { page: { location, history, localStorage }, shown, stored };
}

afterEach(() => vi.unstubAllGlobals());

it('is kept in the storage of the origin and removed from the address', () => {
  const { page, shown, stored } = createPage('#retinue-page-key=abc');
  const read = takePageKey(page);
  expect([read(), shown]).toEqual(['abc', ['/?workspace=w']]);
  // Another tab of this origin, and a new link that was opened there.
  const other = takePageKey(createPage('', stored).page);
  expect(other()).toBe('abc');
  stored?.set('retinue-page-key', 'def');
  expect([read(), other()]).toEqual(['def', 'def']);
});

it('lives as long as the page if the browser blocks storage, and is missing outside of browsers', () => {
  expect(takePageKey(createPage('#retinue-page-key=abc', null).page)()).toBe('abc');
  expect(takePageKey(createPage('#top').page)()).toBeNull();
  expect(takePageKey({})()).toBeNull();
});

it('is sent by a client without a token to the server of the page, and to no other', async () => {
  for (const [name, value] of Object.entries(createPage('#retinue-page-key=abc').page)) vi.stubGlobal(name, value);
  const sent: (string | null)[] = [];
  const fetch = async (_: unknown, init: RequestInit = {}) => {
    sent.push(new Headers(init.headers).get('retinue-page-key'));
    return Response.json([]);
  };
  await createClient({ fetch }).runs();
  await createClient({ fetch, url: 'http://127.0.0.1:7718' }).runs();
  await createClient({ fetch, token: 'x'.repeat(32) }).runs();
  expect(sent).toEqual(['abc', null, null]);
});
