// A catalog of agents by name. Definitions are checked when it is created.
import { z } from 'zod';
import { Agent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import type { Catalog } from '../ports/catalog.ts';
import { builtInAgents } from './built-in.ts';

/**
 * Throws RetinueError `invalid_config` for a malformed definition and for a duplicate name, with the sources. The tools of a definition need not
 * exist: a run gets those that do.
 */
export function createCatalog(agents: Agent[]): Catalog {
  const byName = new Map<string, Agent>();
  for (const agent of agents) {
    const checked = checkAgent(agent);
    const other = byName.get(agent.name);
    if (other !== undefined) {
      throw new RetinueError('invalid_config', `the agent ${agent.name} is defined twice: in ${other.source} and in ${agent.source}`);
    }
    byName.set(agent.name, checked);
  }
  return { get: (name) => byName.get(name) ?? null, list: () => [...byName.values()] };
}

/** The tests check the built-in agents, so that a start need not. */
function checkAgent(agent: Agent): Agent {
  if (builtInAgents.includes(agent)) return agent;
  const checked = Agent.safeParse(agent);
  if (!checked.success)
    throw new RetinueError('invalid_config', `the agent ${agent.name} (${agent.source}): ${z.prettifyError(checked.error)}`);
  return checked.data;
}
