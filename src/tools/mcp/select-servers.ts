import type { Agent } from '../../contract/agent.ts';
import type { McpServer } from '../../contract/mcp-server.ts';

export type Servers = Record<string, McpServer>;

/** The servers of an agent: those that are configured, or those that it names and those it brings along. */
export function serversOf(agent: Pick<Agent, 'mcpServers'>, configured: Servers): { servers: Servers; missing: string[] } {
  if (agent.mcpServers === undefined) return { servers: configured, missing: [] };
  const servers: Servers = {};
  const missing: string[] = [];
  for (const given of agent.mcpServers) {
    if (typeof given !== 'string') Object.assign(servers, given);
    else if (Object.hasOwn(configured, given)) servers[given] ??= configured[given] as McpServer;
    else missing.push(given);
  }
  return { servers, missing };
}

/** What of a server's tools an agent names: names, and with a `*` at the end whole groups. Empty: it cannot use any. */
export function namedOf(
  agent: { tools?: readonly string[] | undefined; disallowedTools?: readonly string[] | undefined },
  server: string,
): string[] {
  const prefix = `mcp__${server}__`;
  const isAll = (name: string) => name.endsWith('*') && prefix.startsWith(name.slice(0, -1));
  if (agent.disallowedTools?.some(isAll)) return [];
  if (agent.tools === undefined || agent.tools.some(isAll)) return [`${prefix}*`];
  return agent.tools.filter((name) => name.startsWith(prefix));
}
