// Names of tools in the options: those of the program's own tools, and those that its agents list.
import { builtInToolNames } from '../agents/tool-lists.ts';
import { RetinueError } from '../contract/error.ts';
import { submitTool } from '../contract/tool-names.ts';
import { native } from '../dialects/native.ts';
import { nonNativeToolNames } from '../dialects/settings.ts';
import { dialectToolNames } from '../kernel/delegation/dialect-tools.ts';
import type { Dialect } from '../ports/dialect.ts';
import { capabilities } from '../rules/policy.ts';
import { clipName, unknownNameMessage } from '../text/suggest.ts';
import type { RetinueOptions } from './types.ts';

type OwnAgent = NonNullable<RetinueOptions['agents']>[number];

/** What providers accept. */
const validName = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

/** Throws `usage` for a name that providers refuse, or that another tool or the rules use. */
export function checkOwnToolNames(own: readonly string[], dialect: Dialect): void {
  if (own.length === 0) return;
  const taken = new Map<string, string>();
  const take = (names: readonly string[], why: string) => {
    for (const name of names) taken.set(name.toLowerCase(), why);
  };
  take(capabilities, 'rules use this name for what a shell command may reach');
  take(builtInToolNames, 'a built-in tool has this name');
  take([...dialectToolNames(native), ...dialectToolNames(dialect)], 'a delegation tool has this name');
  take([submitTool], 'the tool for structured results has this name');
  for (const name of own) {
    const problem = taken.get(name.toLowerCase()) ?? findNameProblem(name);
    if (problem !== null) throw new RetinueError('usage', `a tool cannot be called \`${clipName(name)}\`: ${problem}`);
  }
}

function findNameProblem(name: string): string | null {
  if (!validName.test(name)) return 'a name has up to 64 letters, digits, `_` and `-`, and begins with a letter or `_`';
  return name.startsWith('mcp__') ? 'names with `mcp__` are those of MCP servers' : null;
}

const lists = ['tools', 'childTools', 'disallowedTools'] as const;

/** The agents with their tools as they are spelt. Throws `unknown_tool` for a name that no tool has. */
export function resolveListedTools(agents: readonly OwnAgent[], own: readonly string[], dialect: Dialect): OwnAgent[] {
  if (agents.length === 0) return [];
  const known = [
    ...new Set([...own, ...builtInToolNames, ...dialectToolNames(dialect), ...dialectToolNames(native), ...nonNativeToolNames]),
  ];
  const resolve = (name: string, where: string) => {
    // Tools of MCP servers are known only when a run starts.
    if (known.includes(name) || name.includes('*') || name.startsWith('mcp__')) return name;
    const found = known.find((each) => each.toLowerCase() === name.toLowerCase());
    if (found === undefined) throw new RetinueError('unknown_tool', `${where}: ${unknownNameMessage('tool', name, known)}`);
    return found;
  };
  return agents.map((agent, i) => {
    // A program that carries out an agent has tools with names of its own.
    if (agent.runs !== undefined) return agent;
    const resolved = { ...agent };
    for (const list of lists) {
      const names = agent[list];
      if (names) resolved[list] = names.map((name) => resolve(name, `\`agents.${i}.${list}\``));
    }
    return resolved;
  });
}
