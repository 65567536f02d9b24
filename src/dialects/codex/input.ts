// The input of an agent: a plain message, or a list of items.
import { z } from 'zod';

const Item = z.strictObject({
  type: z.string().optional().describe('text, mention or skill.'),
  text: z.string().optional().describe('The text, if type is text.'),
  path: z.string().optional().describe('The path or address, if type is mention or skill.'),
  name: z.string().optional().describe('The name to show, if type is mention or skill.'),
});

/** Parameters that two tools share. Exactly one of them must be given. */
export const inputFields = {
  message: z.string().optional().describe('The text for the agent. Give either message or items.'),
  items: z.array(Item).max(100).optional().describe('The same as a list of items.'),
};

export type InputText = { ok: true; text: string } | { ok: false; problem: string };

/** A problem names the parameter. */
export function inputToText({ message, items }: { message?: string | undefined; items?: z.infer<typeof Item>[] | undefined }): InputText {
  if (message !== undefined && items !== undefined) return fail('message: give either message or items, not both');
  if (items === undefined) return message === undefined ? fail('message: give message or items') : nonEmpty(message, 'message');
  if (items.length === 0) return fail('items: must not be empty');
  const lines: string[] = [];
  for (const [index, { type = 'text', text, path, name }] of items.entries()) {
    if (type === 'text' && text !== undefined) lines.push(text);
    else if ((type === 'mention' || type === 'skill') && path !== undefined) lines.push(`[${type} ${name ?? path}](${path})`);
    else if (['text', 'mention', 'skill'].includes(type)) return fail(`items[${index}].${type === 'text' ? 'text' : 'path'}: is missing`);
    else return fail(`items[${index}].type: agents can be given text, mention and skill, not ${JSON.stringify(type.slice(0, 40))}`);
  }
  return nonEmpty(lines.join('\n'), 'items');
}

function nonEmpty(text: string, name: string): InputText {
  return text.trim() === '' ? fail(`${name}: must not be empty`) : { ok: true, text };
}

function fail(problem: string): InputText {
  return { ok: false, problem };
}
