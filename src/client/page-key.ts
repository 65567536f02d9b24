// The key of a page of the server (contract/page-key.ts): taken from the address that the link leads to, and kept for all tabs of this origin.
import { pageKeyName } from '../contract/page-key.ts';

/** What of a browser is used. Everything may be missing, as in Node, or refused, as with blocked storage. */
interface Page {
  location?: { hash: string; pathname: string; search: string };
  history?: { state: unknown; replaceState(state: unknown, title: string, url: string): void };
  localStorage?: { getItem(name: string): string | null; setItem(name: string, value: string): void };
}

/** Removes the key from the address. The result reads the storage each time, because another tab may have opened a new link. */
export function takePageKey(page: Page = globalThis as Page): () => string | null {
  const taken = new URLSearchParams(page.location?.hash.slice(1)).get(pageKeyName);
  if (taken !== null) {
    page.history?.replaceState(page.history.state, '', `${page.location?.pathname}${page.location?.search}`);
    useStorage(page, (storage) => storage.setItem(pageKeyName, taken));
  }
  return () => useStorage(page, (storage) => storage.getItem(pageKeyName)) ?? taken;
}

/** Null without storage, or if the browser refuses it; then the key lives as long as the page. */
function useStorage<T>(page: Page, use: (storage: NonNullable<Page['localStorage']>) => T): T | null {
  try {
    return page.localStorage ? use(page.localStorage) : null;
  } catch {
    return null;
  }
}
