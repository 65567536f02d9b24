import type { Agent } from '../contract/agent.ts';
import { isRetinueError } from '../contract/error.ts';
import { type AgentFile, readAgent } from './definition.ts';
import type { Reading } from './fields.ts';

export type { AgentFile } from './definition.ts';
export type { Reading } from './fields.ts';

/** A file that defines no agent that anybody may use, and why: with file and line, one problem each. */
export interface RefusedAgent {
  /** The name it would have: as written, else after its file. */
  name: string;
  source: string;
  problems: string[];
}

export interface LoadedAgents {
  agents: Agent[];
  /** To leave such a file out may widen what its name means elsewhere: that is for the caller to prevent. */
  refused: RefusedAgent[];
  warnings: { source: string; message: string }[];
}

/** Reads the agent files of one place (the user's, or a workspace's). Pure. A name that is there twice names both files, and neither counts. */
export function loadAgents(files: AgentFile[], reading: Reading): LoadedAgents {
  const loaded: LoadedAgents = { agents: [], refused: [], warnings: [] };
  for (const file of files) {
    try {
      const { agent, warnings } = readAgent(file, reading);
      loaded.warnings.push(...warnings.map((message) => ({ source: file.path, message })));
      if (agent) loaded.agents.push(agent);
    } catch (error) {
      if (!isRetinueError(error)) throw error;
      loaded.refused.push({ name: nameOf(file), source: file.path, problems: error.message.split('\n') });
    }
  }
  return withoutTwins(loaded);
}

function withoutTwins(loaded: LoadedAgents): LoadedAgents {
  const byName = Map.groupBy(loaded.agents, (agent) => agent.name);
  const twins = [...byName.values()].filter((same) => same.length > 1);
  const refused = twins.map(([first, second]): RefusedAgent => {
    const { name, source } = first as Agent;
    return { name, source, problems: [`the agent ${name} is defined twice: in ${source} and in ${second?.source}`] };
  });
  return {
    agents: loaded.agents.filter((agent) => byName.get(agent.name)?.length === 1),
    refused: [...loaded.refused, ...refused],
    warnings: loaded.warnings,
  };
}

function nameOf({ path, text }: AgentFile): string {
  const written = /^name:[ \t]*["']?([a-z0-9][a-z0-9_/-]*)["']?[ \t]*\r?$/m.exec(text)?.[1];
  return written ?? (path.split('/').at(-1) as string).replace(/\.md$/, '');
}
