import { z } from 'zod';
import { Hash, RunId } from './ids.ts';

/** A file at one moment. `hash`: of the blob with its content, or with the target of a link. */
export const FileState = z.strictObject({ mode: z.enum(['100644', '100755', '120000']), hash: Hash, bytes: z.int().min(0) });
export type FileState = z.infer<typeof FileState>;

/** `path` is relative to the workspace, with `/` between its names. Null: no file. */
export const PathChange = z.strictObject({ path: z.string().min(1), before: FileState.nullable(), after: FileState.nullable() });
export type PathChange = z.infer<typeof PathChange>;

/** What changed between two states of a workspace, by path. Stored as a blob, like the contents that it names. */
export const ChangeSet = z.strictObject({ v: z.literal(1), changes: z.array(PathChange) });
export type ChangeSet = z.infer<typeof ChangeSet>;

/** The parts of a plan in order, with the run that each belongs to. A path may be in several of them: each continues from the state before it. Stored as a blob. */
export const ChangeSteps = z.strictObject({
  v: z.literal(1),
  steps: z.array(z.strictObject({ runId: RunId, changes: z.array(PathChange) })),
});
export type ChangeSteps = z.infer<typeof ChangeSteps>;
export type ChangeStep = ChangeSteps['steps'][number];

/** Whether two states are of the same file. */
export function isSameState(a: FileState | null, b: FileState | null): boolean {
  return a === null || b === null ? a === b : a.mode === b.mode && a.hash === b.hash;
}
