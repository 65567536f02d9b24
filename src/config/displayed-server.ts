// MCP servers and addresses as they are shown to people, without secrets.
import type { Json } from '../contract/json.ts';
import type { McpServer } from '../contract/mcp-server.ts';

/** Shows only the names of variables and headers: their values may be secrets. */
export function describeServer({ env, headers, url, ...rest }: McpServer): Json {
  const names = (record: object | undefined) => (record === undefined ? undefined : Object.keys(record));
  const address = url === undefined ? undefined : URL.canParse(url) ? hideCredentials(url) : url;
  const shown = { ...rest, url: address, env: names(env), headers: names(headers) };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)) as Json;
}

/** Removes user name, password and query from an address: each may be a secret. */
export function hideCredentials(address: string): string {
  const url = new URL(address);
  const hasSecret = url.username !== '' || url.password !== '' || url.search !== '';
  Object.assign(url, { username: '', password: '', search: '', hash: '' });
  return hasSecret ? `${url.href} (credentials not shown)` : address;
}
