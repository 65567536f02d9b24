// Parameters of an agent: placeholders `{{ name }}` in its texts, whose values come with the brief.
import { z } from 'zod';

const parameterTypes = ['string', 'number', 'boolean', 'date', 'file', 'select'] as const;

const maxValueBytes = 16_384;

const ParameterName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be letters, digits and _, up to 64');

/** `file`: the value is a path of the workspace; the file becomes part of the first message. Without `default`, a value is required. */
export const AgentParameter = z.strictObject({
  name: ParameterName,
  type: z.enum(parameterTypes).optional(),
  description: z.string().max(1_000).optional(),
  default: z.string().max(maxValueBytes).optional(),
  /** The allowed values of a `select`. */
  options: z.array(z.string().max(1_000)).min(1).max(100).optional(),
});
export type AgentParameter = z.infer<typeof AgentParameter>;

export const AgentParameters = z
  .array(AgentParameter)
  .max(50)
  .superRefine((parameters, context) => {
    const seen = new Set<string>();
    for (const [index, { name, type, options, default: value }] of parameters.entries()) {
      const addIssue = (message: string, key: string) => context.addIssue({ code: 'custom', message, path: [index, key] });
      if (seen.has(name)) addIssue(`\`${name}\` is defined twice`, 'name');
      seen.add(name);
      if ((type === 'select') !== (options !== undefined)) addIssue('belongs to the type `select`, which needs it', 'options');
      // The file of a default would be read without anybody having named it.
      if (type === 'file' && value !== undefined) addIssue('must not be given for a file', 'default');
    }
  });

/** The values that a brief gives, by parameter. */
export const ParameterValues = z
  .record(ParameterName, z.string().max(maxValueBytes))
  .refine((values) => Object.keys(values).length <= 50, 'must be at most 50 values');
export type ParameterValues = z.infer<typeof ParameterValues>;
