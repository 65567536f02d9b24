// A small router on the browser's history. Every address keeps `?workspace=`, so that a link or a reload shows the same workspace.
import { type AnchorHTMLAttributes, type MouseEvent, type ReactNode, useMemo, useSyncExternalStore } from 'react';

export interface Route {
  path: string;
  /** Decoded parts of the path: `/runs/ab12` has `runs` and `ab12`. */
  segments: string[];
  query: URLSearchParams;
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('popstate', listener);
  };
}

export function useRoute(): Route {
  const address = useSyncExternalStore(subscribe, () => `${window.location.pathname}${window.location.search}`);
  return useMemo(() => parseAddress(address), [address]);
}

function parseAddress(address: string): Route {
  const url = new URL(address, 'http://page');
  return { path: url.pathname, segments: url.pathname.split('/').filter(Boolean).map(decodeSegment), query: url.searchParams };
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `to` is a path of the dashboard, with a query if it has one. */
export function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const target = withWorkspace(to);
  if (replace) window.history.replaceState(null, '', target);
  else window.history.pushState(null, '', target);
  for (const listener of [...listeners]) listener();
}

/** Sets and removes (null) parts of the query of the current page. */
export function setQuery(changes: Record<string, string | null>, options: { replace?: boolean } = { replace: true }): void {
  const url = new URL(window.location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  navigate(url.pathname + url.search, options);
}

/** The address with the workspace of the current page, unless it names one itself. */
function withWorkspace(to: string): string {
  const workspace = new URLSearchParams(window.location.search).get('workspace');
  const url = new URL(to, window.location.href);
  if (workspace !== null && !url.searchParams.has('workspace')) url.searchParams.set('workspace', workspace);
  return url.pathname + url.search + url.hash;
}

/** The address with the tab of the current page, for pages of the same kind. */
export function withTab(to: string): string {
  const tab = new URLSearchParams(window.location.search).get('tab');
  return tab === null ? to : `${to}?tab=${encodeURIComponent(tab)}`;
}

export interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  to: string;
  children?: ReactNode;
}

/** A link within the dashboard. With a modifier key, the browser opens it as usual. */
export function Link({ to, onClick, ...more }: LinkProps): ReactNode {
  const click = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (event.defaultPrevented || !isPlain || (more.target !== undefined && more.target !== '_self')) return;
    event.preventDefault();
    navigate(to);
  };
  return <a href={withWorkspace(to)} onClick={click} {...more} />;
}
