// The available agents: built-in, the user's and the workspace's.
import { builtInAgents } from '../agents/built-in.ts';
import { createCatalog } from '../agents/catalog.ts';
import { chooseAgents } from '../agents/choose.ts';
import { loadAgents, type ParserDeps } from '../agents/files.ts';
import type { Agent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { Catalog } from '../ports/catalog.ts';
import { parseRule } from '../rules/policy.ts';
import { type FoundFile, type FoundFiles, findAgentFiles } from './agent-files.ts';
import { anchorAgent } from './anchor-rules.ts';
import { parseDuration } from './duration.ts';
import type { ConfiguredAgents, Settings } from './settings.ts';
import type { TrustList } from './trust.ts';
import type { Env } from './user-folders.ts';

const parserDeps: ParserDeps = { checkRule: parseRule, durationMs: parseDuration };

export interface LoadAgentsOptions {
  workspace: string;
  env: Env;
  /** Limits of the configuration. */
  limits: LimitsGiven;
  trustList: TrustList;
}

/**
 * Throws `invalid_config` for an invalid file in one of Retinue's own folders. A file in `.claude` was written for another program, so an
 * invalid one is only reported. An invalid file in the user's `.claude` also hides other agents of its name, so that a less restricted agent does not replace it.
 */
export function loadConfiguredAgents({ workspace, env, limits, trustList }: LoadAgentsOptions): ConfiguredAgents {
  const found = findAgentFiles(workspace, env);
  const [user, workspaceAgents] = [parseAgents(found.user), parseAgents(found.workspace)];
  const fileOf = (agent: Agent) => found.workspace.files.find(({ path }) => path === agent.source) as FoundFile;
  const trustOf = ({ file, hash }: FoundFile) => trustList.state(file, hash);
  const { agents, widenings } = chooseAgents({
    builtIn: builtInAgents,
    user: user.agents,
    workspace: workspaceAgents.agents,
    limits,
    isTrusted: (agent) => trustOf(fileOf(agent)) === 'trusted',
  });
  return {
    untrusted: agents
      .filter((agent) => workspaceAgents.agents.some(({ source }) => source === agent.source) && trustOf(fileOf(agent)) !== 'trusted')
      .map(({ name }) => name),
    list: agents
      .filter(({ name }) => !user.refused.some((other) => other.name === name))
      .map((agent) => anchorAgent(agent, { workspace, env })),
    refused: [...user.refused, ...workspaceAgents.refused],
    warnings: [...user.warnings, ...workspaceAgents.warnings],
    trust: widenings.map(({ agent, gives }) => {
      const file = fileOf(agent);
      return { path: file.file, hash: file.hash, state: trustOf(file), gives };
    }),
  };
}

function parseAgents(found: FoundFiles) {
  const loaded = loadAgents(found.files, parserDeps);
  const refused = [...found.refused, ...loaded.refused];
  const fatal = refused.filter(({ source }) => !found.isForeign(source));
  if (fatal.length > 0) throw new RetinueError('invalid_config', fatal.flatMap(({ problems }) => problems).join('\n'));
  return { agents: loaded.agents, refused, warnings: [...found.warnings, ...loaded.warnings] };
}

/** The agents of the settings as the kernel uses them. Reads the agent files at first use, and throws then if one is invalid. */
export function createAgentCatalog(settings: Pick<Settings, 'agents'>): Catalog {
  let loaded: Catalog | null = null;
  const catalog = () => {
    loaded ??= createCatalog(settings.agents().list);
    return loaded;
  };
  // Agents of a dialect are listed by that dialect alone.
  const isListed = ({ name }: Agent) => !/^(dex|openfork)\//.test(name);
  return { get: (name) => catalog().get(name), list: () => catalog().list().filter(isListed) };
}
