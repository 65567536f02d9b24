import { realpath } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../ports/clock.ts';
import type { Memories, Memory } from '../ports/notes.ts';
import type { Tool, ToolResult } from '../ports/tool.ts';
import { failure } from './refusal.ts';
import { fits, plural, printable, quoted } from './text.ts';

const maxTextBytes = 8192;
const maxMemories = 500;
const shownBytes = 24_000;

const Input = z.strictObject({
  action: z
    .enum(['add', 'search', 'list', 'remove'])
    .describe(
      'add: keep `text` under `title` (the same title again replaces it); search: those with all words of `text`; list: all titles; remove: `title`.',
    ),
  title: z.string().trim().min(1).max(200).optional().describe('For add and remove.'),
  text: z
    .string()
    .trim()
    .min(1)
    .refine(...fits(maxTextBytes))
    .optional()
    .describe('For add: what to remember. For search: words to look for.'),
});
type Input = z.infer<typeof Input>;

export function createMemory({ memories, clock }: { memories: Memories; clock: Clock }): Tool<Input> {
  return {
    name: 'memory',
    description:
      'Keeps short notes about this workspace over all runs: decisions, conventions, what was found out. Look here before you find something out again.',
    input: Input,
    readOnly: false,
    idempotent: true,
    timeoutMs: 35_000,
    maxOutputBytes: 32_768,
    subjects: ({ action }) => [action],
    async execute({ action, title, text }, context) {
      context.signal.throwIfAborted();
      const workspace = await realpath(context.workspace);
      switch (action) {
        case 'add':
          if (title === undefined) return missing('title', action);
          return text === undefined
            ? missing('text', action)
            : add({ memories, workspace }, { title, text, at: new Date(clock.now()).toISOString() });
        case 'search':
          return text === undefined ? missing('text', action) : found(await memories.list(workspace, text));
        case 'list':
          return listed(await memories.list(workspace));
        case 'remove':
          if (title === undefined) return missing('title', action);
          return (await memories.remove(workspace, title.toWellFormed()))
            ? { output: `removed ${printable(title)}` }
            : failure(`title: there is no memory ${printable(title)}`);
      }
    },
  };
}

function missing(parameter: string, action: string): ToolResult {
  return failure(`${parameter}: ${action} needs it`);
}

async function add({ memories, workspace }: { memories: Memories; workspace: string }, given: Memory): Promise<ToolResult> {
  const memory = { ...given, title: given.title.toWellFormed(), text: given.text.toWellFormed() };
  const known = await memories.list(workspace);
  const again = known.some(({ title }) => title === memory.title);
  if (!again && known.length >= maxMemories) {
    return failure(
      `title: there are ${known.length} memories already, the most there may be; remove some or put the text under a title that is there`,
    );
  }
  await memories.put(workspace, memory);
  return { output: `${again ? 'replaced' : 'remembered'} ${printable(memory.title)}` };
}

function found(memories: Memory[]): ToolResult {
  if (memories.length === 0) return { output: '[no memory has all these words]' };
  return render(memories, ({ title, text, at }) => `${printable(title)} (${at.slice(0, 10)})\n${quoted(text)}`);
}

function listed(memories: Memory[]): ToolResult {
  if (memories.length === 0) return { output: '[nothing is remembered for this workspace]' };
  return render(memories, ({ title, at }) => `- ${printable(title)} (${at.slice(0, 10)})`);
}

function render(memories: Memory[], show: (memory: Memory) => string): ToolResult {
  const shown: string[] = [];
  let bytes = 0;
  for (const memory of memories) {
    const text = show(memory);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > shownBytes) break;
    shown.push(text);
  }
  const rest = memories.length - shown.length;
  if (rest > 0) shown.push(`[${plural(rest, 'older memory', 'older memories')} left out; search for more words]`);
  return { output: shown.join('\n') };
}
