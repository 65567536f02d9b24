// The agents of XZatoma and its names for groups of tools.
import type { Agent } from '../../contract/agent.ts';

const source = 'dialect xzatoma';

/** Neither agent lists tools: a subagent has its parent's tools, except those that the call removes. */
export const xzatomaAgents: Agent[] = [
  {
    name: 'xzatoma/main',
    description: 'The main agent: has all tools and delegates to subagents, up to two levels deep.',
    source,
    prompt: `Complete the task in the given workspace and verify the result. Delegate independent sub-problems to subagents, such as research, log
analysis or alternative solutions. Check the reports of subagents before you rely on them.`,
  },
  {
    name: 'xzatoma/subagent',
    description: 'A subagent: does one focused task in its own conversation.',
    source,
    prompt: `You are a subagent with one focused task. Solve it with the tools you have. If a tool fails, read the error and try another way. You may
delegate further if your tools allow it.`,
  },
];

const aliases: Record<string, string[]> = { file_ops: ['read', 'list', 'glob'], fetch: ['webfetch'], terminal: ['bash'] };

/** Replaces the source's tool names by ours. */
export function expandToolAliases(names: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => (Object.hasOwn(aliases, name) ? (aliases[name] as string[]) : [name])))];
}
