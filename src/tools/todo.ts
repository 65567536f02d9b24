import { z } from 'zod';
import type { Tool } from '../ports/tool.ts';
import { printable } from './text.ts';

const marks = { pending: '[ ]', in_progress: '[>]', done: '[x]' };

const Input = z.strictObject({
  items: z
    .array(
      z.strictObject({
        text: z.string().trim().min(1).max(500).describe('What is to be done, in a line.'),
        status: z.enum(['pending', 'in_progress', 'done']),
      }),
    )
    .max(100)
    .describe('The whole list, in order; it replaces the one before.'),
});
type Input = z.infer<typeof Input>;

/** Keeps nothing: the list stands in the conversation, where the model finds it again. */
export const todo: Tool<Input> = {
  name: 'todo',
  description: 'Sets your list of what is to be done and shows it. Send the whole list each time. Have one item in progress at a time.',
  input: Input,
  readOnly: true,
  portable: true,
  idempotent: true,
  timeoutMs: 5000,
  maxOutputBytes: 65_536,
  subjects: () => [],
  async execute({ items }) {
    if (items.length === 0) return { output: '[the list is empty]' };
    const done = items.filter(({ status }) => status === 'done').length;
    const lines = items.map(({ text, status }) => `- ${marks[status]} ${printable(text)}`);
    return { output: [...lines, `[${done} of ${items.length} done]`].join('\n') };
  },
};
