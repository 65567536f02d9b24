import type { Agent } from '../../contract/agent.ts';

const source = 'dialect xzatoma';

/** Neither has a list of tools: a subagent may what its parent may, less what the call takes away. */
export const xzatomaAgents: Agent[] = [
  {
    name: 'xzatoma/main',
    description: 'The main agent: works with every tool there is and delegates to subagents, two levels deep.',
    source,
    prompt: `You carry a task through to a checked result in the workspace you are given. Sub-problems that stand on their own go to subagents:
research, the analysis of logs, other ways to solve something. Check what they report before you rely on it.`,
  },
  {
    name: 'xzatoma/subagent',
    description: 'A subagent: does one focused task with a conversation of its own.',
    source,
    prompt: `You are a subagent with one focused task. Work it out with the tools you are given; when one fails, read why, and try another way. You
may delegate further where your tools let you.`,
  },
];

const aliases: Record<string, string[]> = { file_ops: ['read', 'list', 'glob'], fetch: ['webfetch'], terminal: ['bash'] };

/** Names as the source has them, as the tools there are. */
export function expanded(names: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => (Object.hasOwn(aliases, name) ? (aliases[name] as string[]) : [name])))];
}
