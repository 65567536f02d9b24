import type { Settings } from '../cli/settings.ts';
import type { Agent } from '../contract/agent.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import { systemClock } from '../system/clock.ts';
import { createMcp, type Mcp } from '../tools/mcp/index.ts';
import type { Env } from './config/places.ts';
import { createRedact, serverSecrets } from './secrets.ts';

export interface ServerSight {
  /** With the agent's, where it brings the server along. */
  name: string;
  /** How many it has; null where it cannot be used. */
  tools: number | null;
  problems: string[];
}

/** Connects to the configured servers and to those of agents, and ends them again. Says nothing of variables and headers. */
export async function lookAtServers(settings: Settings, agents: Agent[], env: Env): Promise<ServerSight[]> {
  const own = agents.flatMap((agent) =>
    (agent.mcpServers ?? []).flatMap((given) =>
      typeof given === 'string' ? [] : Object.entries(given).map(([name, server]) => ({ label: `${name} (${agent.name})`, name, server })),
    ),
  );
  const all = [...Object.entries(settings.mcpServers).map(([name, server]) => ({ label: name, name, server })), ...own];
  if (all.length === 0) return [];
  const redact = createRedact(env, serverSecrets(all.map(({ server }) => server)));
  const mcp = createMcp({ servers: {}, workspace: settings.workspace, env, clock: systemClock, redact });
  try {
    return await Promise.all(all.map(async ({ label, name, server }) => ({ name: label, ...(await look(mcp, name, server)) })));
  } finally {
    await mcp.close();
  }
}

async function look(mcp: Mcp, name: string, server: McpServer): Promise<Omit<ServerSight, 'name'>> {
  try {
    const { tools, problems } = await mcp.probe(name, server);
    return { tools: tools.length, problems };
  } catch (error) {
    return { tools: null, problems: [(error as Error).message] };
  }
}
