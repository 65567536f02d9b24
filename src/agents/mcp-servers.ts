// Parses the MCP servers of an agent file: names of configured servers, and definitions.
import type { Agent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { McpServer, McpServerName } from '../contract/mcp-server.ts';
import { nearestName } from '../text/suggest.ts';

type ServerList = NonNullable<Agent['mcpServers']>;

const expectedForm = '`mcpServers` must be a list of names of configured servers and definitions such as `{ github: { command: … } }`';

/** A map of definitions is read as a list of one. */
export function parseServers(value: Json): ServerList {
  if (typeof value === 'string') return value.split(',').map((name) => parseServerName(name.trim()));
  if (typeof value !== 'object' || value === null) throw new RetinueError('invalid_config', expectedForm);
  return (Array.isArray(value) ? value : [value]).map((item) => {
    if (typeof item === 'string') return parseServerName(item.trim());
    if (typeof item !== 'object' || item === null || Array.isArray(item)) throw new RetinueError('invalid_config', expectedForm);
    return Object.fromEntries(Object.entries(item).map(([name, server]) => [parseServerName(name), parseServer(name, server)]));
  });
}

/** Servers whose tools the agent cannot use, because its list of tools names none of them. */
export function findUnusableServers(servers: ServerList, tools: readonly string[] | undefined): string[] {
  if (tools === undefined) return [];
  const names = servers.flatMap((server) => (typeof server === 'string' ? [server] : Object.keys(server)));
  return names.filter((name) => {
    const prefix = `mcp__${name}__`;
    return !tools.some((tool) => tool.startsWith(prefix) || (tool.endsWith('*') && prefix.startsWith(tool.slice(0, -1))));
  });
}

function parseServerName(name: string): string {
  const checked = McpServerName.safeParse(name);
  if (checked.success) return name;
  throw new RetinueError('invalid_config', `\`mcpServers\`: \`${name.slice(0, 80)}\` ${checked.error.issues[0]?.message}`);
}

function parseServer(name: string, value: Json): McpServer {
  const checked = McpServer.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const at = ['mcpServers', name, ...(issue?.path ?? [])].join('.');
  if (issue?.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    const near = nearestName(key, Object.keys(McpServer.shape));
    throw new RetinueError('invalid_config', `unknown key \`${at}.${key}\`${near === null ? '' : `; did you mean \`${near}\`?`}`);
  }
  throw new RetinueError('invalid_config', `\`${at}\` ${issue?.message}`);
}
