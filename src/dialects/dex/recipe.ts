// A recipe: instructions for a subagent that were written in advance, with parameters, and the hat that carries them out. Pure.
import { z } from 'zod';
import { parseDuration } from './duration.ts';

const name = z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'must consist of lower-case letters, digits, - and _');
const parameterName = z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, 'must be a name of letters, digits and _');
const oneLine = z.string().transform((text) => text.replace(/\s+/g, ' ').trim().slice(0, 300).toWellFormed());

const Parameter = z.union([
  oneLine.transform((description) => ({ description, default: undefined as string | undefined })),
  z.strictObject({
    description: oneLine.default(''),
    default: z.union([z.string(), z.number(), z.boolean()]).transform(String).optional(),
  }),
]);

/** The keys of a recipe file, and its text as `instructions`. A parameter without a default is required. */
export const Recipe = z.strictObject({
  name,
  description: oneLine.default(''),
  hat: name.optional(),
  max_turns: z.int().min(1).max(500).optional(),
  timeout: z
    .union([z.int().min(1), z.string()])
    .refine((value) => parseDuration(String(value)) !== null, 'must be whole seconds or a text like "10m"')
    .optional(),
  files: z.array(z.string().min(1).max(4096)).max(100).optional(),
  parameters: z.record(parameterName, Parameter).default({}),
  instructions: z.string().refine((text) => text.trim() !== '', 'has no instructions; write them below the front matter'),
});
export type Recipe = z.infer<typeof Recipe>;

export type FilledRecipe = { ok: true; text: string } | { ok: false; problem: string };

/** The instructions with `{{parameter}}` replaced. Braces without a parameter of that name stay as they are. */
export function fillRecipe(recipe: Recipe, given: Record<string, string>): FilledRecipe {
  const names = Object.keys(recipe.parameters);
  const unknown = Object.keys(given).find((key) => !names.includes(key));
  if (unknown !== undefined)
    return {
      ok: false,
      problem: `parameters.${unknown}: the recipe ${recipe.name} has no such parameter; available: ${names.join(', ') || 'none'}`,
    };
  const values = new Map(names.map((key) => [key, given[key] ?? recipe.parameters[key]?.default]));
  const missing = names.find((key) => values.get(key) === undefined);
  if (missing !== undefined) return { ok: false, problem: `parameters.${missing}: the recipe ${recipe.name} needs this parameter` };
  return { ok: true, text: recipe.instructions.replace(/\{\{\s*(\w+)\s*\}\}/g, (braces, key: string) => values.get(key) ?? braces) };
}

/** One line for the description of the tool. */
export function describeRecipe({ name: recipeName, description, parameters }: Recipe): string {
  const names = Object.entries(parameters).map(([key, { default: value }]) => (value === undefined ? key : `${key}?`));
  return `- ${recipeName}${names.length === 0 ? '' : ` {${names.join(', ')}}`}${description === '' ? '' : `: ${description}`}`;
}
