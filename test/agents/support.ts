import { type AgentFile, type LoadedAgents, loadAgents, type ParserDeps } from '../../src/agents/files.ts';
import { parseDuration } from '../../src/config/duration.ts';
import type { Agent } from '../../src/contract/agent.ts';
import { parseRule } from '../../src/rules/policy.ts';

const deps: ParserDeps = { checkRule: parseRule, durationMs: parseDuration };

export function load(...files: AgentFile[]): LoadedAgents {
  return loadAgents(files, deps);
}

/** One file with these lines as its front matter. */
export function one(lines: string, path = 'a.md'): LoadedAgents {
  return load({ path, text: `---\n${lines}\n---\nDo it.\n` });
}

/** The agent of such a file, with name and description given. */
export function agentOf(lines: string): Agent {
  const { agents, refused } = one(`name: a\ndescription: d\n${lines}`);
  if (agents[0] === undefined) throw new Error(JSON.stringify(refused));
  return agents[0];
}

export function problemsOf(lines: string): string[] {
  return one(`name: a\ndescription: d\n${lines}`).refused.flatMap(({ problems }) => problems);
}

export function warningsOf(lines: string): string[] {
  return one(`name: a\ndescription: d\n${lines}`).warnings.map(({ message }) => message);
}
