import { z } from 'zod';

/** Something that a run produced. `value` is the note, the path in the workspace, the diff, or JSON text, according to `kind`. */
export const Artifact = z.strictObject({
  kind: z.enum(['note', 'path', 'diff', 'json']),
  value: z.string(),
  title: z.string().optional(),
  bytes: z.int().min(0),
});
export type Artifact = z.infer<typeof Artifact>;
