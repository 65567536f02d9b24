// Server definitions and addresses as they may be printed: without secrets.
import type { Json } from '../contract/json.ts';
import type { McpServer } from '../contract/mcp-server.ts';

/** Variables and headers appear by name only: their values may be secrets. */
export function serverToPublicJson({ env, headers, url, ...rest }: McpServer): Json {
  const names = (record: object | undefined) => (record === undefined ? undefined : Object.keys(record));
  const address = url === undefined ? undefined : URL.canParse(url) ? hideUrlCredentials(url) : url;
  const shown = { ...rest, url: address, env: names(env), headers: names(headers) };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)) as Json;
}

/** Removes user name, password and query, which may contain a token. */
export function hideUrlCredentials(address: string): string {
  const url = new URL(address);
  const secret = url.username !== '' || url.password !== '' || url.search !== '';
  Object.assign(url, { username: '', password: '', search: '', hash: '' });
  return secret ? `${url.href} (credentials not shown)` : address;
}
