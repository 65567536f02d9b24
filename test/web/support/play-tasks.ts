// A scenario of the fake provider in which each task has its own answers, whatever the order in which runs ask.
import type { ProviderRequest, ProviderStep, Scenario } from '../../../src/testing/provider-server.ts';

/** `after`: the answer is held back until this resolves. */
export type TaskStep = ProviderStep & { after?: Promise<unknown> };

/**
 * A run whose first message contains a key gets its steps, one for each model call; of several keys the longest counts. The number of the call
 * is read from the conversation, so a repeated request gets the same answer.
 */
export function playTasks(tasks: Record<string, readonly TaskStep[]>): Scenario {
  const keys = Object.keys(tasks).sort((a, b) => b.length - a.length);
  return async (request) => {
    const messages = request.body.messages as { role: string; content: unknown }[];
    const first = JSON.stringify(messages.find(({ role }) => role === 'user')?.content ?? '');
    const key = keys.find((each) => first.includes(JSON.stringify(each).slice(1, -1)));
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    const step = key === undefined ? undefined : tasks[key]?.[turn];
    if (step === undefined) return { fault: { kind: 'status', status: 400, message: `no step ${turn + 1} for ${key ?? first}` } };
    const { after, ...rest } = step;
    await after;
    return rest;
  };
}

/** The text of all results of tools that a request contains. */
export function readResults({ body }: ProviderRequest): string[] {
  const messages = body.messages as { content: unknown }[];
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])) as { type: string; content?: unknown }[];
  return parts
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)));
}

export interface Gate {
  opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

export function delegate(...tasks: { task: string; label?: string; agent?: string; context?: string }[]): ProviderStep {
  return { calls: [{ tool: 'delegate', args: { tasks, wait_seconds: 600 } }] };
}
