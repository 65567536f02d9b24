// Parses the agent files of one folder and refuses duplicates. It reads no files itself.
import type { Agent } from '../contract/agent.ts';
import { isRetinueError } from '../contract/error.ts';
import { type AgentFile, parseAgent } from './definition.ts';
import type { ParserDeps } from './fields.ts';

export type { AgentFile } from './definition.ts';
export type { ParserDeps } from './fields.ts';

/** A file whose agent cannot be used, with one problem per entry, each with file and line. */
export interface RefusedAgent {
  /** The name in the file, or else the name of the file. */
  name: string;
  source: string;
  problems: string[];
}

export interface LoadedAgents {
  agents: Agent[];
  /** The caller must not fall back to another definition of the same name: that one might have more rights. */
  refused: RefusedAgent[];
  warnings: { source: string; message: string }[];
}

/** `files` are those of the user or of one workspace. If two define the same name, both are refused. */
export function loadAgents(files: AgentFile[], deps: ParserDeps): LoadedAgents {
  const loaded: LoadedAgents = { agents: [], refused: [], warnings: [] };
  for (const file of files) {
    try {
      const { agent, warnings } = parseAgent(file, deps);
      loaded.warnings.push(...warnings.map((message) => ({ source: file.path, message })));
      if (agent) loaded.agents.push(agent);
    } catch (error) {
      if (!isRetinueError(error)) throw error;
      loaded.refused.push({ name: guessName(file), source: file.path, problems: error.message.split('\n') });
    }
  }
  return refuseDuplicates(loaded);
}

function refuseDuplicates(loaded: LoadedAgents): LoadedAgents {
  const byName = Map.groupBy(loaded.agents, (agent) => agent.name);
  const duplicates = [...byName.values()].filter((same) => same.length > 1);
  const refused = duplicates.map(([first, second]): RefusedAgent => {
    const { name, source } = first as Agent;
    return { name, source, problems: [`the agent ${name} is defined twice: in ${source} and in ${second?.source}`] };
  });
  return {
    agents: loaded.agents.filter((agent) => byName.get(agent.name)?.length === 1),
    refused: [...loaded.refused, ...refused],
    warnings: loaded.warnings,
  };
}

function guessName({ path, text }: AgentFile): string {
  const written = /^name:[ \t]*["']?([a-z0-9][a-z0-9_/-]*)["']?[ \t]*\r?$/m.exec(text)?.[1];
  return written ?? (path.split('/').at(-1) as string).replace(/\.md$/, '');
}
