import type { Json } from '../contract/json.ts';
import type { McpServer } from '../contract/mcp-server.ts';

/** Of variables and headers the names alone: their values may be secrets. */
export function shownServer({ env, headers, url, ...rest }: McpServer): Json {
  const names = (record: object | undefined) => (record === undefined ? undefined : Object.keys(record));
  const address = url === undefined ? undefined : URL.canParse(url) ? bareAddress(url) : url;
  const shown = { ...rest, url: address, env: names(env), headers: names(headers) };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)) as Json;
}

/** An address may carry a password or a token; neither is for the eyes. */
export function bareAddress(address: string): string {
  const url = new URL(address);
  const secret = url.username !== '' || url.password !== '' || url.search !== '';
  Object.assign(url, { username: '', password: '', search: '', hash: '' });
  return secret ? `${url.href} (credentials not shown)` : address;
}
