// The agents of the claude dialect: one for each built-in agent type of Claude Code, and the agent of a root. The prompts are ours.
import type { Agent } from '../../contract/agent.ts';
import { toOneLine } from '../shared/one-line.ts';

const prefix = 'claude/';
const source = 'dialect claude';

/** The type of a call that names none. */
export const defaultType = 'general-purpose';

const looking = ['read', 'glob', 'grep', 'list', 'webfetch', 'websearch'];
/** Explore and Plan do not delegate, as in the source. */
const delegation = ['Agent', 'Task', 'TaskOutput', 'TaskStop', 'SendMessage', 'delegate_apply'];

const types: Record<string, Pick<Agent, 'description' | 'prompt' | 'tools' | 'disallowedTools'>> = {
  [defaultType]: {
    description: 'any task: research, search and changes in several steps; has all your tools',
    prompt: `You work on one task for another agent, from the first look to a verified result. Use the tools you have, and delegate only what is
independent of your own work.

Your last message is your report, and the only thing that the other agent reads. Say what you found or changed, with paths, how you verified it,
and what is open.`,
  },
  Explore: {
    description: 'searches and reads to answer a question about files or code; changes nothing',
    tools: looking,
    disallowedTools: delegation,
    prompt: `You search files to answer a question for another agent. You read; you change nothing.

Search for names and patterns before you open files, and read only the parts that matter. The task says how thorough to be; without a word about
that, stop as soon as the question is answered. Report the answer first, then the evidence: absolute paths with line numbers, and short quotes.`,
  },
  Plan: {
    description: 'designs how to implement something: steps, files and trade-offs; changes nothing',
    tools: [...looking, 'todo'],
    disallowedTools: delegation,
    prompt: `You design how to implement something, for another agent that will do it. You read; you change nothing.

Read the code that the change affects and one example of a similar change. Choose one design and give the reason. Report numbered steps that can
be verified one by one, the files that matter most for the work, and the risks.`,
  },
};

export const claudeAgents: Agent[] = [
  {
    name: `${prefix}main`,
    description: 'The agent of a root: has all tools and delegates to agents.',
    source,
    prompt: `You work on the task in the given workspace and verify the result. Give independent parts, and searches whose details you do not need, to
agents. Start several at once if their work does not depend on each other. Do not do what an agent is doing, and check reports before you rely on
them.`,
  },
  ...Object.entries(types).map(([type, definition]): Agent => ({ name: `${prefix}${type.toLowerCase()}`, source, ...definition })),
];

/** Names of built-in types count in any case. Any other type is the name of an agent of the catalog. */
export function typeToAgent(type: string): string {
  const builtIn = Object.keys(types).find((name) => name.toLowerCase() === type.toLowerCase());
  return builtIn === undefined ? type : `${prefix}${builtIn.toLowerCase()}`;
}

export function agentToType(agent: string | null): string {
  const builtIn = Object.keys(types).find((name) => `${prefix}${name.toLowerCase()}` === agent);
  return builtIn ?? agent ?? defaultType;
}

type Listed = readonly { name: string; description: string }[];

/** Built-in types, then agents of the catalog. Native agents that do the same as a built-in type are not listed. */
export function listTypes(agents: Listed): Listed {
  const builtIn = Object.entries(types).map(([name, { description }]) => ({ name, description }));
  return [...builtIn, ...agents.filter(({ name }) => !['general', 'explore', 'plan'].includes(name))];
}

export function describeTypes(agents: Listed): string {
  return listTypes(agents)
    .map(({ name, description }) => `- ${name}: ${toOneLine(description, 300)}`)
    .join('\n');
}
