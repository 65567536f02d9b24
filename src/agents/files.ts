// Parses the agent files of one folder and refuses duplicates. It reads no files itself.
import type { Agent } from '../contract/agent.ts';
import { isRetinueError } from '../contract/error.ts';
import { parseAgent } from './definition.ts';
import type { ParserDeps } from './fields.ts';
import type { AgentFile, AgentFormat, LeftOut } from './formats/format.ts';
import { retinueFormat } from './formats/retinue.ts';

export type { ParserDeps } from './fields.ts';
export type { AgentFile, AgentFormat, LeftOut, UserFolders } from './formats/format.ts';

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
  /** What has no effect in the files of other programs, by agent. */
  leftOut: (LeftOut & { source: string })[];
}

/** `files` are those of one format, of the user or of one workspace. If two define the same name, both are refused. */
export function loadAgents(files: AgentFile[], deps: ParserDeps, format: AgentFormat = retinueFormat): LoadedAgents {
  const loaded: LoadedAgents = { agents: [], refused: [], warnings: [], leftOut: [] };
  for (const file of files) {
    const stem = fileStem(file.path, format.endings);
    const refuse = (name: string, source: string, error: unknown) => {
      // Brackets can be nested too deeply for a parser.
      if (!isRetinueError(error) && !(error instanceof RangeError)) throw error;
      const problems = isRetinueError(error) ? error.message.split('\n') : [`${file.path}:1: it is nested too deeply`];
      loaded.refused.push({ name, source, problems });
    };
    try {
      const found = format.read(file, stem);
      if (found.length === 0 && format.fileNames === undefined) loaded.warnings.push({ source: file.path, message: describeNoAgent(file) });
      for (const raw of found) {
        const named = raw.entries.find(({ key }) => key === 'name')?.value;
        try {
          const { agent, warnings, leftOut } = parseAgent(raw, file.path, deps);
          loaded.warnings.push(...warnings.map((message) => ({ source: agent.source, message })));
          loaded.leftOut.push(...leftOut.map((each) => ({ ...each, source: agent.source })));
          loaded.agents.push(agent);
        } catch (error) {
          refuse(typeof named === 'string' ? named : guessName(file, stem), raw.source, error);
        }
      }
    } catch (error) {
      refuse(guessName(file, stem), file.path, error);
    }
  }
  return refuseDuplicates(loaded);
}

function describeNoAgent({ text }: AgentFile): string {
  return /^\ufeff?---[ \t]*\r?\n/.test(text) ? 'it is disabled in its file' : 'it has no front matter, so it is ignored';
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
    leftOut: loaded.leftOut,
  };
}

function guessName({ text }: AgentFile, stem: string): string {
  return /^name:[ \t]*["']?([a-z0-9][a-z0-9_/-]*)["']?[ \t]*\r?$/m.exec(text)?.[1] ?? stem;
}

/** The name of a file without the ending that its format has. */
export function fileStem(path: string, endings: readonly string[]): string {
  const name = path.split('/').at(-1) as string;
  const ending = endings.find((each) => name.endsWith(each)) ?? '';
  return name.slice(0, name.length - ending.length);
}
