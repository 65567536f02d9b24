// The agents there are: built-in, the user's and the workspace's.
import { builtInAgents } from '../agents/built-in.ts';
import { createCatalog } from '../agents/catalog.ts';
import { chooseAgents } from '../agents/choose.ts';
import { loadAgents, type ParserDeps } from '../agents/files.ts';
import { parseDuration } from '../cli/args/flag-values.ts';
import type { AgentsFound, Settings } from '../cli/settings.ts';
import type { Agent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { Catalog } from '../ports/catalog.ts';
import { parseRule } from '../rules/policy.ts';
import { type FoundFile, type FoundFiles, findAgentFiles } from './config/agent-files.ts';
import type { Env } from './config/places.ts';
import type { Trust } from './trust.ts';

const parserDeps: ParserDeps = { checkRule: parseRule, durationMs: parseDuration };

export interface AgentGround {
  workspace: string;
  env: Env;
  /** Limits of the configuration. */
  limits: LimitsGiven;
  trust: Trust;
}

/**
 * Throws `invalid_config` for a file in a folder of Retinue that is refused. One in `.claude` was written for another program and
 * stops nobody who does not ask for it; but where it could have replaced an agent, that name is nobody's then.
 */
export function findAgents({ workspace, env, limits, trust }: AgentGround): AgentsFound {
  const found = findAgentFiles(workspace, env);
  const [user, work] = [load(found.user), load(found.workspace)];
  const fileOf = (agent: Agent) => found.workspace.files.find(({ path }) => path === agent.source) as FoundFile;
  const stateOf = ({ file, hash }: FoundFile) => trust.state(file, hash);
  const { agents, widenings } = chooseAgents({
    builtIn: builtInAgents,
    user: user.agents,
    workspace: work.agents,
    limits,
    isTrusted: (agent) => stateOf(fileOf(agent)) === 'trusted',
  });
  return {
    untrusted: agents
      .filter((agent) => work.agents.some(({ source }) => source === agent.source) && stateOf(fileOf(agent)) !== 'trusted')
      .map(({ name }) => name),
    list: agents.filter(({ name }) => !user.refused.some((other) => other.name === name)),
    refused: [...user.refused, ...work.refused],
    warnings: [...user.warnings, ...work.warnings],
    trust: widenings.map(({ agent, gives }) => {
      const file = fileOf(agent);
      return { path: file.file, hash: file.hash, state: stateOf(file), gives };
    }),
  };
}

function load(found: FoundFiles) {
  const loaded = loadAgents(found.files, parserDeps);
  const refused = [...found.refused, ...loaded.refused];
  const fatal = refused.filter(({ source }) => !found.isForeign(source));
  if (fatal.length > 0) throw new RetinueError('invalid_config', fatal.flatMap(({ problems }) => problems).join('\n'));
  return { agents: loaded.agents, refused, warnings: [...found.warnings, ...loaded.warnings] };
}

/** The agents of the settings as the kernel sees them. Their files are read at its first use, which throws where one is refused. */
export function catalogOf(settings: Pick<Settings, 'agents'>): Catalog {
  let made: Catalog | null = null;
  const catalog = () => {
    made ??= createCatalog(settings.agents().list);
    return made;
  };
  return { get: (name) => catalog().get(name), list: () => catalog().list() };
}
