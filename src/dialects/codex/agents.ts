// The agents of the codex dialect: one for each agent type of Codex, and the agent of a root. The prompts are ours.
import type { Agent } from '../../contract/agent.ts';

const prefix = 'codex/';
const source = 'dialect codex';

/** The agent type of a call that names none. */
export const defaultType = 'default';

interface AgentType {
  description: string;
  prompt: string;
  tools?: string[];
}

const types: Record<string, AgentType> = {
  default: {
    description: 'has your tools and does any task',
    prompt: `You work on one task that another agent gave you. Do all of it with the tools you have, and verify the result.

Your last message is the only thing that the other agent reads: say what you found or changed, with paths, and what is open.`,
  },
  explorer: {
    description: 'answers one specific question about the code and changes nothing; start several for independent questions',
    tools: ['read', 'glob', 'grep', 'list'],
    prompt: `You answer one specific question about the files in the workspace. You read and search; you change nothing.

Follow names from their definition to their uses, and stop as soon as the question is answered. Give the answer first, then the evidence: paths
with line numbers and the few lines that matter. Say what you did not find.`,
  },
  worker: {
    description: 'implements or fixes something; say which files or modules it is responsible for, and that others work next to it',
    prompt: `You implement one part of a larger piece of work. Change only what you are responsible for. Others change other parts of the same workspace
at the same time: do not undo what they changed, and adapt to it.

Verify your work with the tests or checks of the workspace. In your last message, list the files you changed, how you verified the change, and
what is open.`,
  },
};

export const codexAgents: Agent[] = [
  {
    name: `${prefix}main`,
    description: 'The agent of a root: has all tools and delegates to agents.',
    source,
    prompt: `You work on the task in the given workspace and verify the result. Delegate independent, well-defined parts to agents and continue with
something else meanwhile. Wait for an agent only when you need its result. Check what agents report before you rely on it.`,
  },
  ...Object.entries(types).map(([type, definition]): Agent => ({ name: `${prefix}${type}`, source, ...definition })),
];

/** A type that is not built in is the name of an agent of the catalog. */
export function typeToAgent(type: string): string {
  return Object.hasOwn(types, type) ? `${prefix}${type}` : type;
}

type Listed = readonly { name: string; description: string }[];

/** Built-in types, then agents of the catalog. */
export function listTypes(agents: Listed): Listed {
  return [...Object.entries(types).map(([name, { description }]) => ({ name, description })), ...agents];
}
