// The agent of a run as it was pinned when the run was created. Facts may have come with a folder, so what is pinned is nobody's word: of what would
// start programs, only what today's catalog says as well counts.
import { Agent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import type { Store } from '../ports/store.ts';
import { sha256 } from '../text/canonical.ts';
import { definitionOf } from './place.ts';

type Created = { runId: string; data: Pick<FactData['run.created'], 'definition'> };

/** The agent as it was when the run was created, whatever has become of its file since. Null where none is pinned. */
export async function definedThen({ runId, data }: Created, store: Store): Promise<Agent | null> {
  const hash = data.definition ?? null;
  const text = hash === null ? null : await store.blob(hash);
  if (hash !== null && (text === null || sha256(text) !== hash))
    throw new RetinueError('store_corrupt', `the definition of the agent of run ${runId} is gone or was changed (${hash})`);
  return text === null ? null : Agent.parse(JSON.parse(text));
}

/** The same without the servers that it brings along, unless it is the definition of today. Names of configured servers stay. */
export function withoutOldServers(agent: Agent, today: Agent | null): Agent {
  if (agent.mcpServers === undefined || (today !== null && definitionOf(today).hash === definitionOf(agent).hash)) return agent;
  return { ...agent, mcpServers: agent.mcpServers.filter((each) => typeof each === 'string') };
}

/** The servers that a run's agent brought along, for somebody who looks; none where its definition cannot be read, for then it cannot go on. */
export async function serversThen(created: Created, store: Store): Promise<Record<string, McpServer>> {
  const agent = await definedThen(created, store).catch(() => null);
  return Object.assign({}, ...(agent?.mcpServers ?? []).filter((each) => typeof each !== 'string'));
}
