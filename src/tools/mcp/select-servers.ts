// Which servers, and which of their tools, an agent may use.
import type { Agent } from '../../contract/agent.ts';
import type { McpServer } from '../../contract/mcp-server.ts';

export type Servers = Record<string, McpServer>;

/** The servers of an agent: all configured ones, or those it names or defines itself. `missing`: names that are not configured. */
export function selectServers(agent: Pick<Agent, 'mcpServers'>, configured: Servers): { servers: Servers; missing: string[] } {
  if (agent.mcpServers === undefined) return { servers: configured, missing: [] };
  const servers: Servers = {};
  const missing: string[] = [];
  for (const entry of agent.mcpServers) {
    if (typeof entry !== 'string') Object.assign(servers, entry);
    else if (Object.hasOwn(configured, entry)) servers[entry] ??= configured[entry] as McpServer;
    else missing.push(entry);
  }
  return { servers, missing };
}

/** The tools of a server that an agent names, as names or as groups ending in `*`. Empty if it may use none. */
export function findToolPatterns(
  agent: { tools?: readonly string[] | undefined; disallowedTools?: readonly string[] | undefined },
  server: string,
): string[] {
  const prefix = `mcp__${server}__`;
  const isAll = (name: string) => name.endsWith('*') && prefix.startsWith(name.slice(0, -1));
  if (agent.disallowedTools?.some(isAll)) return [];
  if (agent.tools === undefined || agent.tools.some(isAll)) return [`${prefix}*`];
  return agent.tools.filter((name) => name.startsWith(prefix));
}
