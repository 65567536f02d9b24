// The tree that is killed: a root and some children, each with tools whose effects are lines in files. The model is a real HTTP server in the test's
// own process, so it outlives the killed processes and knows what it was asked, and when.
import { type ProviderRequest, type ProviderStep, startProviderServer } from '../../src/testing/provider-server.ts';
import type { Random } from '../simulation/random.ts';
import { flowStepFor } from './flow.ts';

/** What differs between the tortures. */
export interface TreeShape {
  children: string[];
  /** How long an answer takes at most. */
  maxDelayMs: number;
  /** Whether children write files and have effects side by side. */
  isRich: boolean;
  /** The name of the file of an effect. */
  effectName(place: string, run: string, n: number): string;
}

export const smallTree: TreeShape = {
  children: ['a', 'b', 'c', 'd'],
  maxDelayMs: 40,
  isRich: true,
  effectName: (_, run, n) => `${run}-${n}`,
};

/** A question as the model heard it: whose, how many answers it had before, whether it asks for a summary, and when. */
export interface Heard {
  task: string;
  answers: number;
  isCompaction: boolean;
  at: number;
}

export interface TreeModel {
  url: string;
  heard: Heard[];
  close(): Promise<void>;
}

export const rootTask = (place: string) => `Torture ${place}/root`;

export async function startTreeModel(random: Random, shape = smallTree): Promise<TreeModel> {
  const heard: Heard[] = [];
  const server = await startProviderServer({
    answer: (request) => {
      const question = questionOf(request);
      heard.push({ ...question, at: Date.now() });
      if (random.hit(0.04)) return { fault: { kind: 'status', status: 503, retryAfterMs: 10 } };
      const delayMs = random.int(1, shape.maxDelayMs);
      const step = flowStepFor(question);
      if (!step) return { ...stepFor(question, shape), delayMs, usage: { input: 100, output: 20 } };
      const [input, output] = [request.body, step].map((text) => Math.ceil(JSON.stringify(text).length / 3));
      return { ...step, delayMs, usage: { input, output } as { input: number; output: number } };
    },
  });
  return { url: server.url, heard, close: server.close };
}

function questionOf({ body }: ProviderRequest): Omit<Heard, 'at'> {
  const messages = body.messages as { role: string; content: unknown }[];
  const textOf = (message: (typeof messages)[number] | undefined) => JSON.stringify(message?.content ?? '');
  const first = textOf(messages.find((message) => message.role === 'user'));
  return {
    task: /Torture \w+\/\w+/.exec(first)?.[0] ?? '',
    answers: countAnswers(messages.map((message) => ({ role: message.role, text: textOf(message) }))),
    isCompaction: textOf(messages.at(-1)).includes('[compaction]'),
  };
}

/** The answers in the conversation, and those that a hand-over covers. The answer of its last turn follows it. */
function countAnswers(messages: { role: string; text: string }[]): number {
  const isAnswer = (message: (typeof messages)[number] | undefined) => message?.role === 'assistant';
  const at = messages.findLastIndex(({ role, text }) => role === 'user' && text.includes('[hand-over after turn'));
  const after = messages.slice(at + 1).filter(isAnswer).length;
  if (at < 0) return after;
  const covered = Number(/\[hand-over after turn (\d+)\]/.exec(messages[at]?.text ?? '')?.[1]);
  return covered + after - (isAnswer(messages[at + 1]) ? 1 : 0);
}

function stepFor({ task, answers }: Omit<Heard, 'at'>, { children, isRich, effectName }: TreeShape): ProviderStep {
  const [place = '', name = ''] = task.replace('Torture ', '').split('/');
  const effect = (n: number) => ({ tool: 'bash', args: { command: `date +%s%3N >> effects/${effectName(place, name, n)}` } });
  const list = { tool: 'list', args: { path: '.' } };
  if (name === 'root') {
    const tasks = children.map((child) => ({ task: `Torture ${place}/${child}`, label: child }));
    if (answers === 0) return { calls: [effect(1)] };
    if (answers === 1) return { calls: [{ tool: 'delegate', args: { tasks } }, list] };
    if (answers === 2) return { calls: [effect(2)] };
  } else {
    if (answers === 0) return { calls: [effect(1), list] };
    if (answers === 1) return { calls: isRich ? [effect(2), effect(3)] : [effect(2)] };
    if (answers === 2)
      return { calls: [{ tool: 'write', args: { path: `notes/${effectName(place, name, 0)}.txt`, content: `by ${name}\n` } }] };
  }
  return { text: `${name} is done.` };
}
