// The MCP servers of an agent file: names of configured ones, and definitions of its own.
import type { Agent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { McpServer, McpServerName } from '../contract/mcp-server.ts';
import type { Reading } from './fields.ts';

type Given = NonNullable<Agent['mcpServers']>;

const form = '`mcpServers` must be a list of names of configured servers and of definitions such as `{ github: { command: … } }`';

/** A map of definitions counts as the list of them. */
export function serversOf(value: Json, reading: Pick<Reading, 'nearest'>): Given {
  if (typeof value === 'string') return value.split(',').map((name) => nameOf(name.trim()));
  if (typeof value !== 'object' || value === null) throw new RetinueError('invalid_config', form);
  return (Array.isArray(value) ? value : [value]).map((item) => {
    if (typeof item === 'string') return nameOf(item.trim());
    if (typeof item !== 'object' || item === null || Array.isArray(item)) throw new RetinueError('invalid_config', form);
    return Object.fromEntries(Object.entries(item).map(([name, server]) => [nameOf(name), serverOf(name, server, reading)]));
  });
}

/** Names under which the tools of servers cannot be used, because the file has a list of tools without them. */
export function unnamed(servers: Given, tools: readonly string[] | undefined): string[] {
  if (tools === undefined) return [];
  const names = servers.flatMap((server) => (typeof server === 'string' ? [server] : Object.keys(server)));
  return names.filter((name) => {
    const prefix = `mcp__${name}__`;
    return !tools.some((tool) => tool.startsWith(prefix) || (tool.endsWith('*') && prefix.startsWith(tool.slice(0, -1))));
  });
}

function nameOf(name: string): string {
  const checked = McpServerName.safeParse(name);
  if (checked.success) return name;
  throw new RetinueError('invalid_config', `\`mcpServers\`: \`${name.slice(0, 80)}\` ${checked.error.issues[0]?.message}`);
}

function serverOf(name: string, value: Json, { nearest }: Pick<Reading, 'nearest'>): McpServer {
  const checked = McpServer.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const at = ['mcpServers', name, ...(issue?.path ?? [])].join('.');
  if (issue?.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    const near = nearest(key, Object.keys(McpServer.shape));
    throw new RetinueError('invalid_config', `unknown key \`${at}.${key}\`${near === null ? '' : `; did you mean \`${near}\`?`}`);
  }
  throw new RetinueError('invalid_config', `\`${at}\` ${issue?.message}`);
}
