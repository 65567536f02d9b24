// The scripted tree: a root and five children, each child with two tool calls that write a line to a file.
import type { ProviderStep } from 'retinue/testing';

/** Which run asks, and how many answers it had before. */
export interface ModelRequest {
  part: string;
  answers: number;
}

const children = ['north', 'east', 'south', 'west', 'centre'];
const taskFor = (part: string) => `Look at the ${part} part.`;

export const rootTask = taskFor('whole');

export function parseRequest(body: Record<string, unknown>): ModelRequest {
  const messages = body.messages as { role: string; content: unknown }[];
  const first = JSON.stringify(messages.find((message) => message.role === 'user')?.content ?? '');
  return { part: partIn(first), answers: messages.filter((message) => message.role === 'assistant').length };
}

export function partIn(text: string): string {
  return /Look at the (\w+) part/.exec(text)?.[1] ?? '';
}

/** Children have different delays, so that some have ended and others are unfinished when the process is killed. */
export function answerRequest({ part, answers }: ModelRequest): ProviderStep {
  const delayMs = part === 'whole' ? 200 : 250 + 150 * children.indexOf(part);
  const writeLine = { tool: 'bash', args: { command: `sleep 0.2; echo done >> effects/${part}-${answers}` } };
  const usage = { input: 800, output: 60 };
  if (part === 'whole' && answers === 0) {
    const tasks = children.map((child) => ({ task: taskFor(child), label: child }));
    return { delayMs, usage, calls: [{ tool: 'delegate', args: { tasks } }] };
  }
  if (part !== 'whole' && answers < 2) return { delayMs, usage, calls: [writeLine] };
  return { delayMs, usage, text: part === 'whole' ? 'All five parts were looked at.' : `The ${part} part is in order.` };
}
