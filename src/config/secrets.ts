// Which environment variables an agent's shell gets, and the secrets in definitions of MCP servers.
import type { Agent } from '../contract/agent.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import { agentDefinition } from '../kernel/recovery/pinned-agent.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Rights } from '../ports/tool.ts';
import { type KnownSecrets, secretName } from './secret-values.ts';
import type { Settings } from './settings.ts';
import type { Env } from './user-folders.ts';

/**
 * The variables that the owner grants to an agent's shell. The name alone is not enough: the run's agent must have the same content as
 * today's agent of that name, and must not come from an untrusted workspace.
 */
export function grantedVariables(
  { agent, definition }: Pick<Rights, 'agent' | 'definition'>,
  { env, agents, catalog }: Pick<Settings, 'env' | 'agents'> & { catalog: Catalog },
  processEnv: Env,
): Record<string, string> {
  if (!Object.hasOwn(env, agent) || agents().untrusted.includes(agent)) return {};
  const today = catalog.get(agent);
  const names = today !== null && agentDefinition(today).hash === definition ? (env[agent] as string[]) : [];
  return Object.fromEntries(names.flatMap((name) => (processEnv[name] ? [[name, processEnv[name]]] : [])));
}

const secretHeader = /auth|cookie|key|token|secret/i;
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}/g;

/**
 * The secrets in MCP server definitions: every variable they refer to, because a server can return what it received, and the values of
 * headers and variables with secret-sounding names.
 */
export function findServerSecrets(servers: McpServer[]): Pick<KnownSecrets, 'names' | 'values'> {
  const texts = servers.flatMap(({ env = {}, headers = {} }) => [
    ...Object.entries(env).flatMap(([name, text]) => (secretName.test(name) ? [text] : [])),
    ...Object.entries(headers).flatMap(([name, text]) => (secretHeader.test(name) ? [text] : [])),
  ]);
  // In `Bearer …` the secret is the second part.
  return { names: servers.flatMap(listVariables), values: texts.flatMap((text) => text.replace(reference, ' ').split(' ')) };
}

function listVariables({ args = [], env = {}, envFrom = [], url = '', headers = {}, headersFrom = {} }: McpServer): string[] {
  const texts = [...args, ...Object.values(env), url, ...Object.values(headers)];
  const referred = texts.flatMap((text) => [...text.matchAll(reference)].map(([, name]) => name as string));
  return [...referred, ...envFrom, ...Object.values(headersFrom)];
}

/** The configured servers, and those defined inside agents. */
export function listServers(configured: Record<string, McpServer>, agents: Pick<Agent, 'mcpServers'>[]): McpServer[] {
  const inline = agents.flatMap(({ mcpServers = [] }) =>
    mcpServers.flatMap((server) => (typeof server === 'string' ? [] : Object.values(server))),
  );
  return [...Object.values(configured), ...inline];
}
