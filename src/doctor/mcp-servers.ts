// Connects to the configured MCP servers and to those of agents, and closes the connections. Shows no variables and no headers.
import { createRedact } from '../config/redact.ts';
import { findServerSecrets } from '../config/secrets.ts';
import type { Settings } from '../config/settings.ts';
import type { Env } from '../config/user-folders.ts';
import type { Agent } from '../contract/agent.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import { systemClock } from '../system/clock.ts';
import { createMcp, type Mcp } from '../tools/mcp/index.ts';
import { type Check, ok, warning } from './check.ts';

export async function checkServers(settings: Settings, agents: Agent[], env: Env): Promise<Check[]> {
  const servers = listNamedServers(settings, agents);
  if (servers.length === 0) return [];
  const redact = createRedact(env, findServerSecrets(servers.map(({ server }) => server)));
  const mcp = createMcp({ servers: {}, workspace: settings.workspace, env, clock: systemClock, redact });
  try {
    return await Promise.all(servers.map(({ label, name, server }) => checkServer(mcp, label, name, server)));
  } finally {
    await mcp.close();
  }
}

function listNamedServers(settings: Settings, agents: Agent[]): { label: string; name: string; server: McpServer }[] {
  const configured = Object.entries(settings.mcpServers).map(([name, server]) => ({ label: name, name, server }));
  const ofAgents = agents.flatMap((agent) =>
    (agent.mcpServers ?? []).flatMap((given) =>
      typeof given === 'string' ? [] : Object.entries(given).map(([name, server]) => ({ label: `${name} (${agent.name})`, name, server })),
    ),
  );
  return [...configured, ...ofAgents];
}

async function checkServer(mcp: Mcp, label: string, name: string, server: McpServer): Promise<Check> {
  try {
    const { tools, problems } = await mcp.probe(name, server);
    const text = `answers; ${tools.length} tools`;
    if (problems.length === 0) return ok(`mcp ${label}`, text);
    return warning(`mcp ${label}`, [text, ...problems].join('\n'), 'runs get only the tools that are not left out');
  } catch (error) {
    return warning(`mcp ${label}`, `cannot be used\n${(error as Error).message}`, 'runs work without its tools');
  }
}
