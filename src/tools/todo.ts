// The `todo` tool: a list of tasks that the model keeps in its own conversation.
import { z } from 'zod';
import type { Tool } from '../ports/tool.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { escapeControls } from './text.ts';

const marks = { pending: '[ ]', in_progress: '[>]', done: '[x]' };

const Input = z.strictObject({
  items: z
    .array(
      z.strictObject({
        text: z.string().trim().min(1).max(500).describe('The task, in one line.'),
        status: z.enum(['pending', 'in_progress', 'done']),
      }),
    )
    .max(100)
    .describe('The complete list, in order. It replaces the previous list.'),
});
type Input = z.infer<typeof Input>;

/** Stores nothing: the result in the conversation is the list. */
export const todo: Tool<Input> = {
  name: 'todo',
  description: 'Sets your list of tasks and shows it. Send the complete list each time. Keep one item in progress at a time.',
  get input() {
    return Input;
  },
  inputSchema: inputSchemas.todo,
  readOnly: true,
  portable: true,
  idempotent: true,
  timeoutMs: 5000,
  maxOutputBytes: 65_536,
  subjects: () => [],
  async execute({ items }) {
    if (items.length === 0) return { output: '[the list is empty]' };
    const done = items.filter(({ status }) => status === 'done').length;
    const lines = items.map(({ text, status }) => `- ${marks[status]} ${escapeControls(text)}`);
    return { output: [...lines, `[${done} of ${items.length} done]`].join('\n') };
  },
};
