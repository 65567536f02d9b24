// The agent of a run as it was pinned when the run was created. A database may have come with a folder, so a pinned definition is not trusted to
// start programs. MCP servers defined in it count only if today's catalog defines the agent the same way.
import { Agent } from '../../contract/agent.ts';
import { RetinueError } from '../../contract/error.ts';
import type { FactData } from '../../contract/fact.ts';
import type { McpServer } from '../../contract/mcp-server.ts';
import type { Store } from '../../ports/store.ts';
import { canonical, sha256 } from '../../text/canonical.ts';

type Created = { runId: string; data: Pick<FactData['run.created'], 'definition'> };

const definitions = new WeakMap<Agent, { content: string; hash: string }>();

/** An agent's definition as it is pinned: canonical JSON and its hash. */
export function agentDefinition(agent: Agent): { content: string; hash: string } {
  const known = definitions.get(agent);
  if (known) return known;
  const content = canonical(agent);
  const definition = { content, hash: sha256(content) };
  definitions.set(agent, definition);
  return definition;
}

/** The agent as it was when the run was created, even if its file has changed since. Null if none is pinned. */
export async function loadPinnedAgent({ runId, data }: Created, store: Pick<Store, 'blob'>): Promise<Agent | null> {
  const hash = data.definition ?? null;
  const text = hash === null ? null : await store.blob(hash);
  if (hash !== null && (typeof text !== 'string' || sha256(text) !== hash))
    throw new RetinueError('store_corrupt', `the agent definition of run ${runId} is missing or was changed (${hash})`);
  return typeof text === 'string' ? Agent.parse(JSON.parse(text)) : null;
}

/** The pinned agent without its inline MCP servers, unless today's definition is the same. Names of configured servers stay. */
export function withoutUntrustedServers(agent: Agent, today: Agent | null): Agent {
  if (today !== null && agentDefinition(today).hash === agentDefinition(agent).hash) return agent;
  if (agent.runs)
    throw new RetinueError(
      'agent_program',
      `the agent ${agent.name} is not defined as it was when the run began, so its program is not started; restore the definition, or cancel the run and start it again`,
    );
  if (agent.mcpServers === undefined) return agent;
  return { ...agent, mcpServers: agent.mcpServers.filter((server) => typeof server === 'string') };
}

/** The MCP servers that a run's pinned agent defines, for display; none if the definition cannot be read. */
export async function loadPinnedServers(created: Created, store: Pick<Store, 'blob'>): Promise<Record<string, McpServer>> {
  // A run whose definition cannot be read cannot be resumed either, so there is nothing to show.
  const agent = await loadPinnedAgent(created, store).catch(() => null);
  return Object.assign({}, ...(agent?.mcpServers ?? []).filter((server) => typeof server !== 'string'));
}
