// The `memory` tool: notes about a workspace that all runs share.
import { realpath } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../ports/clock.ts';
import type { Memories, Memory } from '../ports/notes.ts';
import type { Tool, ToolResult } from '../ports/tool.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure } from './refusal.ts';
import { escapeControls, formatCount, quoteLines, refineMaxBytes } from './text.ts';

const maxTextBytes = 8192;
const maxMemories = 500;
const shownBytes = 24_000;

const Input = z.strictObject({
  action: z
    .enum(['add', 'search', 'list', 'remove'])
    .describe(
      'add: stores `text` under `title` and replaces an existing note of that title. search: finds notes with all words of `text`. list: shows all ' +
        'titles. remove: deletes the note `title`.',
    ),
  title: z.string().trim().min(1).max(200).optional().describe('For add and remove.'),
  text: z
    .string()
    .trim()
    .min(1)
    .refine(...refineMaxBytes(maxTextBytes))
    .optional()
    .describe('For add: the text to store. For search: the words to find.'),
});
type Input = z.infer<typeof Input>;

export function createMemory({ memories, clock }: { memories: Memories; clock: Clock }): Tool<Input> {
  return {
    name: 'memory',
    description:
      'Stores short notes about this workspace for all runs: decisions, conventions, findings. Look here before you investigate something again.',
    get input() {
      return Input;
    },
    inputSchema: inputSchemas.memory,
    readOnly: false,
    idempotent: true,
    timeoutMs: 35_000,
    maxOutputBytes: 32_768,
    subjects: ({ action }) => [action],
    async execute({ action, title, text }, context) {
      context.signal.throwIfAborted();
      const workspace = await realpath(context.project ?? context.workspace);
      switch (action) {
        case 'add':
          if (title === undefined) return missingParameter('title', action);
          return text === undefined
            ? missingParameter('text', action)
            : add({ memories, workspace }, { title, text, at: new Date(clock.now()).toISOString() });
        case 'search':
          return text === undefined ? missingParameter('text', action) : renderFound(await memories.list(workspace, text));
        case 'list':
          return renderTitles(await memories.list(workspace));
        case 'remove':
          if (title === undefined) return missingParameter('title', action);
          return (await memories.remove(workspace, title.toWellFormed()))
            ? { output: `removed ${escapeControls(title)}` }
            : createToolFailure(`title: no note has the title ${escapeControls(title)}`);
      }
    },
  };
}

function missingParameter(parameter: string, action: string): ToolResult {
  return createToolFailure(`${parameter}: required for ${action}`);
}

async function add({ memories, workspace }: { memories: Memories; workspace: string }, given: Memory): Promise<ToolResult> {
  const memory = { ...given, title: given.title.toWellFormed(), text: given.text.toWellFormed() };
  const known = await memories.list(workspace);
  const again = known.some(({ title }) => title === memory.title);
  if (!again && known.length >= maxMemories) {
    return createToolFailure(
      `title: there are already ${known.length} notes, which is the maximum; remove some, or replace a note by using its title`,
    );
  }
  await memories.put(workspace, memory);
  return { output: `${again ? 'replaced' : 'stored'} ${escapeControls(memory.title)}` };
}

function renderFound(memories: Memory[]): ToolResult {
  if (memories.length === 0) return { output: '[no note has all these words]' };
  return renderMemories(memories, ({ title, text, at }) => `${escapeControls(title)} (${at.slice(0, 10)})\n${quoteLines(text)}`);
}

function renderTitles(memories: Memory[]): ToolResult {
  if (memories.length === 0) return { output: '[there are no notes for this workspace]' };
  return renderMemories(memories, ({ title, at }) => `- ${escapeControls(title)} (${at.slice(0, 10)})`);
}

function renderMemories(memories: Memory[], show: (memory: Memory) => string): ToolResult {
  const shown: string[] = [];
  let bytes = 0;
  for (const memory of memories) {
    const text = show(memory);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > shownBytes) break;
    shown.push(text);
  }
  const rest = memories.length - shown.length;
  if (rest > 0) shown.push(`[${formatCount(rest, 'older note')} left out; search for more words]`);
  return { output: shown.join('\n'), taint: ['memory'] };
}
