// The tree of the demonstration: a root and five children, each with two tool calls that leave a line in a file.
import type { ProviderStep } from '../../testing/provider-server.ts';

/** Whose question it was, and how many answers it had before. */
export interface Question {
  name: string;
  answers: number;
}

const children = ['north', 'east', 'south', 'west', 'centre'];
const task = (name: string) => `Look at the ${name} part.`;

export const rootTask = task('whole');

export function questionOf(body: Record<string, unknown>): Question {
  const messages = body.messages as { role: string; content: unknown }[];
  const first = JSON.stringify(messages.find((message) => message.role === 'user')?.content ?? '');
  return { name: nameIn(first), answers: messages.filter((message) => message.role === 'assistant').length };
}

export function nameIn(text: string): string {
  return /Look at the (\w+) part/.exec(text)?.[1] ?? '';
}

/** Children take unlike times, so that some have ended and others are in the middle when the process is killed. */
export function demoStep({ name, answers }: Question): ProviderStep {
  const delayMs = name === 'whole' ? 200 : 250 + 150 * children.indexOf(name);
  const line = { tool: 'bash', args: { command: `sleep 0.2; echo done >> effects/${name}-${answers}` } };
  const usage = { input: 800, output: 60 };
  if (name === 'whole' && answers === 0) {
    const tasks = children.map((child) => ({ task: task(child), label: child }));
    return { delayMs, usage, calls: [{ tool: 'delegate', args: { tasks } }] };
  }
  if (name !== 'whole' && answers < 2) return { delayMs, usage, calls: [line] };
  return { delayMs, usage, text: name === 'whole' ? 'All five parts were looked at.' : `The ${name} part is in order.` };
}
