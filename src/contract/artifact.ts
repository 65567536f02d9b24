import { z } from 'zod';

/** Something a run produced, as the runtime saw it. `value`: the note, the workspace path, the diff, or JSON text. */
export const Artifact = z.strictObject({
  kind: z.enum(['note', 'path', 'diff', 'json']),
  value: z.string(),
  title: z.string().optional(),
  bytes: z.int().min(0),
});
export type Artifact = z.infer<typeof Artifact>;
